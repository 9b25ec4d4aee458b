"""Windows and targets as a caller may pass them; refusals of a whole plan are in test_faults."""

import pytest

from towpath.weighters.window import checked_targets, checked_window


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
