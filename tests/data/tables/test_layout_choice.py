"""The layout of a table, given or guessed."""

import pytest

from tests.data.tables.table_files import csv_bytes
from tests.data.tables.test_layouts import NOTHING, WIDE
from towpath.data.errors import DataError
from towpath.data.tables.comma_separated import read_csv
from towpath.data.tables.layout_choice import LayoutChoice
from towpath.data.tables.layouts import Wide


def test_named_features_leave_the_other_numbers_as_tasks():
    layout = LayoutChoice().chosen(WIDE, frozenset(("f1", "f2")), True)
    assert layout.columns == ("a", "b", "c")


def test_contradicting_options_are_refused():
    for choice in (
        LayoutChoice("wide", target="a"),
        LayoutChoice("long", tasks=("a",)),
        LayoutChoice("labels", task="a"),
        LayoutChoice(tasks=("a",), task="b"),
    ):
        with pytest.raises(DataError, match="Remove what does not apply"):
            choice.chosen(WIDE, NOTHING, False)


def test_a_column_that_is_a_feature_or_an_id_is_neither_task_nor_target():
    rows = [{"x": i / 3, "y": i / 7, "task": i, "a": i % 2, "b": i // 2 % 2} for i in range(12)]
    table = read_csv("t.csv", csv_bytes(rows), frozenset(("task",)))
    layout = LayoutChoice().chosen(table, frozenset(("x", "y", "task")), True)
    assert layout == Wide(("a", "b"))
