"""Windows and targets as a caller may pass them; refusals of a whole plan are in test_faults."""

import pytest
import torch

from towpath.weighters.window import checked_targets, checked_window, refuse_task


def test_a_window_of_any_sequences_becomes_lists_that_are_not_the_callers():
    batch = ["a", "b"]
    window = (batch, ("c", "d"))
    checked = checked_window(window)
    assert checked == [["a", "b"], ["c", "d"]]
    checked[0].append("x")
    assert batch == ["a", "b"]


def test_targets_may_be_missing_for_a_mini_batch_but_not_for_all():
    assert checked_targets(None, 2) is None
    assert checked_targets([[], ["a", "b", "c"]], 2) == [[], ["a", "b", "c"]]
    with pytest.raises(ValueError, match=r"\[0, 0\] tasks; expected .* at least one task in all"):
        checked_targets([[], []], 2)


TASK = (torch.zeros(4, 1), torch.ones(4, 1))


def test_tasks_in_place_of_mini_batches_are_refused_and_not_taken_apart():
    with pytest.raises(
        ValueError, match=r"window\[0\] is a tuple of 2 .* one task; expected a list"
    ):
        checked_window([TASK, TASK])
    with pytest.raises(
        ValueError, match=r"targets\[1\] is a tuple of 2 .* one task; expected a list"
    ):
        checked_targets([[], TASK], 2)
    with pytest.raises(ValueError, match=r"judges is a tuple of 2 .* one task; expected a list"):
        refuse_task("judges", TASK)


def test_a_mini_batch_may_be_a_tuple_of_tasks_or_a_list_of_tensors():
    assert checked_window([(TASK, TASK)]) == [[TASK, TASK]]
    assert checked_window([[*TASK]]) == [[*TASK]]
