"""A task of a table, by class."""

from tests.data.tables.test_pool import NUMBERS, TASKS


def test_rows_are_known_by_class():
    assert [rows.tolist() for rows in TASKS[1].by_class] == [[0], [1, 2, 3, 4]]
    assert TASKS[2].class_counts == (2, 1, 2)
    assert NUMBERS.tasks[0].class_counts == (3,)
