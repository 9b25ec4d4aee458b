"""Where tasks are in a table, given and guessed."""

import numpy as np

from tests.data.tables.table_files import csv_bytes, wide_rows
from towpath.data.tables.comma_separated import read_csv
from towpath.data.tables.layout_choice import LayoutChoice
from towpath.data.tables.layouts import Labels, Long, Wide, rows_by_text

WIDE = read_csv("w.csv", csv_bytes(wide_rows()))
LONG = read_csv(
    "l.csv",
    csv_bytes([{"x": i / 3, "Task": f"t{i % 2}", "Target": f"c{i // 2 % 3}"} for i in range(12)]),
)
LABELS = read_csv("k.csv", csv_bytes([{"x": i / 3, "label": i % 4} for i in range(12)]))
NOTHING: frozenset[str] = frozenset()


def test_a_wide_table_has_a_task_a_column_with_the_cells_that_are_filled():
    layout = LayoutChoice(tasks=("a", "b")).chosen(WIDE, NOTHING, False)
    assert layout == Wide(("a", "b"))
    units = layout.units(WIDE)
    assert [len(unit.rows) for unit in units] == [12, 9]
    assert 3 not in units[1].rows
    tasks = layout.tasks(units, False)
    assert [task.labels for task in tasks] == [("0", "1"), ("0", "1")]
    assert tasks[0].targets.tolist() == [i % 2 for i in range(12)]


def test_task_and_target_columns_are_found_by_their_names():
    layout = LayoutChoice().chosen(LONG, NOTHING, False)
    assert layout == Long("Task", "Target")
    units = layout.units(LONG)
    assert [unit.name for unit in units] == ["t0", "t1"]
    assert units[1].rows.tolist() == [1, 3, 5, 7, 9, 11]
    task = layout.tasks(units, False)[0]
    assert task.labels == ("c0", "c1", "c2")
    assert task.targets.tolist() == [0, 1, 2, 0, 1, 2]


def test_a_target_column_alone_makes_one_task_of_all_classes_of_a_split():
    layout = LayoutChoice().chosen(LABELS, NOTHING, False)
    assert layout == Labels("label")
    units = layout.units(LABELS)
    assert [unit.name for unit in units] == ["0", "1", "2", "3"]
    (task,) = layout.tasks(units[1:3], False)
    assert (task.name, task.labels) == ("all", ("1", "2"))
    assert task.rows.tolist() == [1, 2, 5, 6, 9, 10]
    assert task.targets.tolist() == [0, 1] * 3


def test_classes_of_which_there_is_one_row_are_left_out_of_a_task():
    rows = [{"x": i, "a": code} for i, code in enumerate((0, 0, 1, 1, 2))]
    table = read_csv("t.csv", csv_bytes(rows))
    layout = Wide(("a",))
    (task,) = layout.tasks(layout.units(table), False)
    assert task.labels == ("0", "1")
    assert task.rows.tolist() == [0, 1, 2, 3]


def test_rows_of_a_text_keep_their_order():
    found = rows_by_text(["b", "a", "b"])
    assert list(found) == ["b", "a"]
    np.testing.assert_array_equal(found["b"], [0, 2])
