"""The detector that comes with the weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.runs import run, tiny
from towpath.cli.main import main
from towpath.reports import audit
from towpath.runs.judged import weight_by_label
from towpath.runs.records import ProbeRecord, SkippedWindow, StepRecord


def record(step, weights, wrong):
    tasks = [
        {"index": 10 * step + i, "group": "g" + str(i % 2), "classes": ["a"], "mislabelled": bad}
        for i, bad in enumerate(wrong)
    ]
    losses = [1.0] * len(weights)
    return StepRecord(step, 0, weights, tasks, losses, loss=1.0)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.5, 1.0, 1.5, 2.0]), st.booleans()), min_size=2, max_size=12
    )
)
def test_the_area_counts_pairs_of_a_wrong_and_a_clean_task(tasks):
    weights, wrong = [w for w, _ in tasks], [bad for _, bad in tasks]
    result = audit([record(1, weights, wrong)])
    pairs = [
        1.0 if a < b else 0.5 if a == b else 0.0
        for a, bad_a in tasks
        for b, bad_b in tasks
        if bad_a and not bad_b
    ]
    assert result is not None
    if pairs:
        assert result.area_under_curve == pytest.approx(np.mean(pairs))
    else:
        assert result.area_under_curve is None


def test_only_the_last_steps_count_and_the_least_trusted_come_first():
    records = [record(s, [1.0, 3.0], [False, False]) for s in range(5)]
    records.append(ProbeRecord(5, "p", [[1.0]], [[1.0]], [[{}]]))
    result = audit(records, last=2)
    assert result is not None
    assert (result.first_step, result.last_step) == (3, 4)
    assert [task.trust for task in result.tasks] == [0.5, 0.5, 1.5, 1.5]
    assert result.by_group() == [("g0", 0.5, 2), ("g1", 1.5, 2)]


def test_records_without_weights_give_nothing():
    assert audit([SkippedWindow(1, 0)]) is None


def test_the_command_lists_the_tasks_and_draws_them(tmp_path, capsys):
    path = run(tmp_path / "run", tiny("tow-targets"))
    assert main(["audit", str(path), "--last", "20", "--rows", "3"]) == 0
    text = capsys.readouterr().out
    assert "Least trusted training tasks, steps 21 to 40" in text
    assert "area under the ROC curve" in text
    assert (path / "audit.png").stat().st_size > 5000


def test_the_command_refuses_what_is_no_run_in_one_sentence(tmp_path, capsys):
    assert main(["audit", str(tmp_path)]) == 2
    assert "expected a run folder" in capsys.readouterr().err


def test_trusted_tasks_are_not_judged():
    one = record(1, [0.1, 0.9, 2.0], [True, False, False])
    one.tasks[2]["trusted"] = True
    result, by_label = audit([one]), weight_by_label([one])
    assert result is not None
    assert [task.index for task in result.tasks] == [10, 11]
    assert by_label is not None
    assert by_label.ratio == pytest.approx(0.1 / 0.9)
