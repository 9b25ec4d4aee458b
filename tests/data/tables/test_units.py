"""What kind of task a table has, and which tasks are too small."""

import numpy as np
import pytest

from towpath.data.errors import DataError
from towpath.data.tables.columns import NumberColumn, TextColumn
from towpath.data.tables.units import (
    Unit,
    class_too_small,
    coded,
    decided_kind,
    kept,
    named,
    too_small,
    unit_of,
)


def numbers(*values: float, name: str = "a") -> Unit:
    return Unit(name, np.arange(len(values)), np.array(values, dtype=float))


def words(*values: str) -> Unit:
    return Unit("a", np.arange(len(values)), None, values)


def test_empty_cells_are_not_measured():
    column = NumberColumn("a", np.array([1.0, np.nan, 0.0, 5.0]))
    unit = unit_of("a", column, np.array([0, 1, 2]))
    assert unit.rows.tolist() == [0, 2]
    assert unit.numbers is not None
    assert unit.numbers.tolist() == [1, 0]
    assert unit_of("a", TextColumn("a", ("x", "", "y")), np.arange(3)).words == ("x", "y")


def test_rows_without_features_leave_their_targets_too():
    usable = np.array([True, False, True])
    assert words("x", "y", "z").within(usable).words == ("x", "z")
    found = numbers(4, 5, 6).within(usable)
    assert found.numbers is not None
    assert (found.rows.tolist(), found.numbers.tolist()) == ([0, 2], [4, 6])


@pytest.mark.parametrize(
    ("unit", "regression"),
    [
        (numbers(0, 1, 1), False),
        (numbers(*range(20)), False),
        (numbers(*range(21)), True),
        (numbers(0, 0.5, 1), True),
        (words("yes", "no"), False),
    ],
)
def test_few_whole_numbers_and_text_are_classes(unit, regression):
    found, note = decided_kind("auto", [unit], "t")
    assert found is regression
    assert "kind: " in note  # how to have it otherwise


def test_the_user_decides_unless_words_are_to_be_numbers():
    assert decided_kind("regression", [numbers(0, 1)], "t")[0]
    assert not decided_kind("classification", [numbers(0.5, 1)], "t")[0]
    with pytest.raises(DataError, match=r"target 'yes' in 'a'; expected numbers"):
        decided_kind("regression", [words("yes")], "t")


def test_classes_are_numbered_in_the_order_of_their_values():
    task = coded(numbers(10, 2, 10, -1), False)
    assert task.labels == ("-1", "2", "10")
    assert task.targets.tolist() == [2, 1, 2, 0]
    assert coded(words("b", "a", "b"), False).targets.tolist() == [1, 0, 1]
    assert coded(numbers(0.5, 2), True).targets.tolist() == [0.5, 2]


@pytest.mark.parametrize(
    ("unit", "regression", "why"),
    [
        (numbers(), False, "no row was measured"),
        (numbers(1, 1, 1), False, "one class only"),
        (numbers(0, 0, 1), False, "fewer than two classes with two rows"),
        (numbers(0, 0, 1, 1), False, ""),
        (numbers(3.5), True, "one row only"),
        (numbers(3.5, 3.5), True, "the same number in all rows"),
        (numbers(3.5, 3.6), True, ""),
    ],
)
def test_tasks_of_which_no_episode_can_be_made_are_told_why(unit, regression, why):
    assert too_small(unit, regression) == why


def test_units_left_out_are_counted_and_named():
    units = [numbers(*[0, 1] * (i % 2), name=f"u{i}") for i in range(20)]
    good, notes = kept(units, class_too_small, "classes")
    assert [unit.name for unit in good] == [f"u{i}" for i in range(1, 20, 2)]
    assert notes == [
        "left out 10 of 20 classes (fewer than two rows): 'u0', 'u2', 'u4', 'u6', 'u8' and 5 more"
    ]
    assert named(["x"]) == "'x'"
