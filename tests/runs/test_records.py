"""Every kind of record comes back from its line, and lines of towpath 0.1 are told apart."""

import json
import math

import pytest

from towpath.metrics import ACCURACY, LOSS
from towpath.runs.plain import plain_json
from towpath.runs.plan_statistics import PlanStatistics
from towpath.runs.records import (
    Clock,
    Event,
    ProbeRecord,
    SkippedWindow,
    StepRecord,
    TaskInfo,
    ValidationRecord,
    clocked,
    record_from_json,
)
from towpath.runs.scores import MetricSummary, ScoreSummary

CLOCK = Clock(2.5, 2.0)
PLAN = PlanStatistics(status="converged", beta=10.0, steps=[1.0, 0.5], effective_tasks=[2.0])
TASKS: list[TaskInfo] = [{"index": 3, "group": "A", "classes": ["a", "b"]}, {"trusted": True}]
STEP = StepRecord(
    step=3,
    window=1,
    weights=[0.25, 0.75],
    tasks=TASKS,
    losses=[1.5, None],
    loss=1.5,
    accuracies=[0.5, None],
    accuracy=0.5,
    plan=PLAN,
    events=[Event("task not finite", 0, 1), Event("plan failed: why, nominal kept")],
    clock=CLOCK,
)
RECORDS = {
    "step": STEP,
    "regression": StepRecord(1, 0, [1.0], [{}], [None], loss=None),
    "skipped": SkippedWindow(3, 1, [Event("plan failed: why, window skipped")], CLOCK),
    "validation": ValidationRecord(
        8, ScoreSummary(MetricSummary(0.5, 0.1, 0.25), ACCURACY, 4, 1.25), True, CLOCK
    ),
    "probe": ProbeRecord(0, "train", [[0.5, 0.5]], [[1.0, 2.0]], [TASKS], PLAN),
}


def line(record):
    return json.loads(json.dumps(plain_json(record.as_json())))


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_record_comes_back_from_its_line(record):
    assert record_from_json(line(record)) == record


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_line_of_0_1_which_names_no_kind_is_the_same_record(record):
    content = line(record)
    content.pop("kind")
    assert record_from_json(content) == record


def test_a_line_has_the_names_that_0_1_gave():
    content = line(STEP)
    assert content.pop("kind") == "step"
    assert content.pop("plan")["steps"] == [1.0, 0.5]
    assert content == {
        "step": 3,
        "window": 1,
        "loss": 1.5,
        "losses": [1.5, None],
        "weights": [0.25, 0.75],
        "tasks": TASKS,
        "accuracy": 0.5,
        "accuracies": [0.5, None],
        "events": [
            {"event": "task not finite", "mini_batch": 0, "task": 1},
            {"event": "plan failed: why, nominal kept"},
        ],
        "timing": {"seconds": 2.5, "training_seconds": 2.0},
    }
    assert set(line(RECORDS["regression"])) == {
        *("kind", "step", "window", "loss", "losses", "weights", "tasks")
    }
    assert set(line(RECORDS["validation"])) == {"kind", "step", "validation", "timing"}
    assert {"probe", "weights", "losses", "tasks", "plan"} < set(line(RECORDS["probe"]))


def test_the_clock_is_all_that_a_time_changes():
    now = Clock(9.0, 8.0)
    later = clocked(STEP, now)
    assert later.clock == now
    assert clocked(later, CLOCK) == STEP
    assert Clock(3.0).trained == 3.0, "early releases kept the time of everything alone"


def test_a_score_that_was_not_finite_is_no_number_again():
    score = ScoreSummary(MetricSummary(math.nan, math.inf, math.nan), LOSS, 1, math.nan)
    back = record_from_json(line(ValidationRecord(1, score, False)))
    assert isinstance(back, ValidationRecord)
    assert math.isnan(back.score.mean)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "dream"},
        {"kind": 3},
        {"step": -1},
        {"step": True},
        {"weights": [0.5]},
        {"weights": [0.5, None]},
        {"weights": {"a": 1}},
        {"losses": ["a", 1.0]},
        {"accuracies": [1.0]},
        {"tasks": [{}, 3]},
        {"plan": [1]},
        {"plan": {"beta": "ten"}},
        {"events": {"a": 1}},
        {"timing": {"seconds": "long"}},
        {"window": "second"},
    ],
    ids=str,
)
def test_a_line_with_a_value_of_another_kind_is_refused(change):
    with pytest.raises((TypeError, ValueError)):
        record_from_json({**line(STEP), **change})


@pytest.mark.parametrize(
    "change", [{"weights": []}, {"weights": [0.5]}, {"tasks": [[{}]]}, {"losses": 3}], ids=str
)
def test_a_probe_whose_tasks_are_not_those_of_its_weights_is_refused(change):
    with pytest.raises((TypeError, ValueError)):
        record_from_json({**line(RECORDS["probe"]), **change})
