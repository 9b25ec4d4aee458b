"""Weights over the mean of their mini-batch; trusted tasks are not judged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.runs.judged import WeightByLabel, judged, weight_by_label
from towpath.runs.records import ProbeRecord, StepRecord

TASKS = [
    {"mislabelled": True, "group": "A", "index": 4, "classes": ["a", "b"]},
    {"group": ""},
    {"trusted": True},
    {"mislabelled": False, "index": "x", "classes": 3},
]


def record(weights, tasks=TASKS):
    return StepRecord(7, 0, weights, tasks, [1.0] * len(weights), 1.0)


def test_trusted_tasks_count_in_the_mean_and_nowhere_else():
    found = list(judged(record([0.1, 0.3, 0.4, 0.2])))
    assert [task.trust for task in found] == pytest.approx([0.4, 1.2, 0.8])
    assert [task.group for task in found] == ["A", "", None]
    assert [task.index for task in found] == [4, -1, -1]
    assert [task.classes for task in found] == [("a", "b"), (), ()]
    assert [task.mislabelled for task in found] == [True, False, False]
    assert {task.step for task in found} == {7}


def test_noise_in_the_pool_makes_a_task_wrong_where_most_of_its_labels_are():
    tasks = [
        {"mislabelled": True, "wrong": 0.3, "noise": "classes"},
        {"mislabelled": True, "wrong": 0.6, "noise": "classes"},
        {"mislabelled": True, "wrong": 0.1, "noise": "flip"},
        {"mislabelled": True},
    ]
    found = list(judged(record([0.25] * 4, tasks)))
    assert [task.mislabelled for task in found] == [False, True, True, True]
    assert [task.wrong for task in found] == [0.3, 0.6, 0.1, None]


def test_off_target_tasks_are_wrong_and_the_group_of_mixed_tasks_is_their_set():
    tasks = [
        {"off_target": True, "mislabelled": False, "set": "omniglot", "group": "Greek"},
        {"off_target": False, "mislabelled": False, "set": "mini-imagenet", "group": ""},
        {"mislabelled": False, "set": "glyphs", "group": "Greek"},
    ]
    found = list(judged(record([1 / 3] * 3, tasks)))
    assert [task.mislabelled for task in found] == [True, False, False]
    assert [task.group for task in found] == ["omniglot", "mini-imagenet", "Greek"]


def test_losses_are_relative_to_the_known_ones_of_judged_tasks():
    one = StepRecord(7, 0, [0.25] * 4, TASKS, [2.0, None, 0.1, 3.0], 2.0)
    assert [task.loss for task in judged(one)] == pytest.approx([0.8, None, 1.2])
    silent = StepRecord(7, 0, [0.25] * 4, TASKS, [0.0] * 4, 0.0)
    assert [task.loss for task in judged(silent)] == [None] * 3


def test_where_nothing_weighs_anything_nobody_is_trusted():
    assert [task.trust for task in judged(record([0.0] * 4))] == [0.0] * 3


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.booleans()), min_size=1, max_size=8))
def test_the_trust_in_tasks_averages_1_and_the_ratio_is_that_of_the_means(tasks):
    one = record([w for w, _ in tasks], [{"mislabelled": bad} for _, bad in tasks])
    trusts = [task.trust for task in judged(one)]
    assert sum(trusts) / len(trusts) == pytest.approx(1.0)
    found = weight_by_label([one, ProbeRecord(7, "p", [[9.0]], [[1.0]], [[{"mislabelled": True}]])])
    bad = [w for w, wrong in tasks if wrong]
    good = [w for w, wrong in tasks if not wrong]
    if not bad or not good:
        assert found is None
    else:
        assert found is not None
        assert found.ratio == pytest.approx(sum(bad) / len(bad) / (sum(good) / len(good)))
        assert WeightByLabel.from_json(found.as_json()) == found


def test_no_weight_at_all_for_clean_tasks_is_a_ratio_of_0():
    assert WeightByLabel(1.0, 0.0).ratio == 0.0
