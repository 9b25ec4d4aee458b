"""`summary.json`: it comes back as it went, and what a comparison needs must be there."""

import json
import math

import pytest

from towpath.metrics import ACCURACY
from towpath.runs.judged import WeightByLabel
from towpath.runs.plain import plain_json
from towpath.runs.scores import MetricSummary, ScoreSummary
from towpath.runs.summary import BestValidation, RunTiming, Summary, SummaryIdentity

SCORE = ScoreSummary(MetricSummary(0.5, 0.25, 0.125), ACCURACY, 8, 1.5)
SUMMARY = Summary(
    recipe="tiny",
    reproduces="Table 1",
    weighter="tow",
    seed=3,
    data="glyphs",
    synthetic=True,
    test={
        "glyphs": SCORE,
        "omniglot": ScoreSummary(MetricSummary(0.25, 0.5, 0.0), ACCURACY, 4, 2.5),
    },
    validation=BestValidation(0.75, 20),
    steps=40,
    windows=20,
    tasks_trained=160,
    evaluations=90.5,
    weight_by_label=WeightByLabel(0.25, 1.25),
    parameters=12,
    normalisation="batch",
    versions={"towpath": "0.2"},
    timing=RunTiming(9.0, 8.0, 0.2, 1.0),
    identity=SummaryIdentity("run", "evaluations", 40),
)


def in_file(summary=SUMMARY):
    return json.loads(json.dumps(plain_json(summary.as_json())))


def test_a_summary_comes_back_from_its_file():
    assert Summary.from_json(in_file()) == SUMMARY


def test_the_first_test_set_is_the_runs_own_and_stands_at_the_top():
    assert SUMMARY.score == SCORE
    assert {key: in_file()[key] for key in SCORE.as_json()} == SCORE.as_json()


def test_a_summary_of_0_1_has_no_identity_and_is_read():
    content = in_file()
    content.pop("identity")
    found = Summary.from_json(content)
    assert found.identity is None
    assert "identity" not in found.as_json()


def test_an_interval_that_was_not_finite_is_not_one_after_reading():
    content = in_file()
    content["test"]["glyphs"]["interval"] = content["interval"] = None
    assert math.isnan(Summary.from_json(content).score.interval)


@pytest.mark.parametrize(
    "key",
    [
        *("recipe", "weighter", "seed", "steps", "mean", "interval", "worst_tenth"),
        *("evaluations", "tasks_trained", "timing", "weight_by_label", "test"),
    ],
)
def test_what_is_compared_or_shown_must_be_there(key):
    content = in_file()
    content.pop(key)
    with pytest.raises(KeyError):
        Summary.from_json(content)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": -1},
        {"steps": 1.5},
        {"evaluations": None},
        {"recipe": 3},
        {"test": {}},
        {"test": [1]},
        {"test": {"glyphs": {"mean": "half", "interval": 1.0, "metric": "accuracy"}}},
        {"timing": {"seconds": 1.0, "training_seconds": "x", "seconds_per_step": 1.0}},
        {"identity": 3},
    ],
    ids=str,
)
def test_a_value_of_another_kind_is_refused(change):
    with pytest.raises(TypeError):
        Summary.from_json({**in_file(), **change})
