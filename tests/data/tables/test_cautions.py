"""What a table warns of: repeated ids, and features that look like tasks."""

import numpy as np
import pytest

from tests.data.tables.table_files import csv_bytes, wide_rows
from towpath.data import EpisodeSpec, load_table, stream_of
from towpath.data.tables.cautions import repeated_ids
from towpath.data.tables.columns import NumberColumn, Table, TextColumn


@pytest.fixture
def load(tmp_path):
    """Write rows as a table and load its training tasks."""

    def load(rows, **options):
        path = tmp_path / "assays.csv"
        path.write_bytes(csv_bytes(rows))
        return load_table(path, splits={"test": ["b"]}, **options)

    return load


def test_unnamed_task_columns_among_the_features_are_named(load):
    pool = load(wide_rows(), tasks=["a", "b"])
    assert pool.feature_names == ("f1", "f2", "c")
    (caution,) = pool.cautions
    assert "1 of 3 features looks like a task ('c')" in caution
    assert "data.features" in caution
    assert caution in pool.notes
    # training tells it, too
    assert caution in stream_of(pool, EpisodeSpec(2, 1, 1)).notes


def test_columns_that_are_mostly_empty_look_like_tasks(load):
    rows = [{**row, "c": row["c"] + 0.5 if i < 4 else ""} for i, row in enumerate(wide_rows())]
    assert "('c'): mostly empty" in load(rows, tasks=["a", "b"]).cautions[0]


def test_features_that_were_named_are_meant_so(load):
    assert not load(wide_rows(), tasks=["a", "b"], features=["f1", "c"]).cautions


def test_full_columns_of_0_and_1_are_features_where_every_task_has_gaps(load):
    rows = [{**row, "a": "" if i == 5 else row["a"]} for i, row in enumerate(wide_rows())]
    assert not load(rows, tasks=["a", "b"]).cautions


def test_repeated_ids_are_counted_and_the_first_is_named(load):
    rows = [{"id": f"C{i % 9}", **row} for i, row in enumerate(wide_rows())]
    (caution,) = load(rows, id="id", features=["f1", "f2"]).cautions
    assert caution.startswith(
        "3 rows of assays.csv have an id that an earlier row has (first 'C0', line 2 and line 11)"
    )
    unique = [{"id": f"C{i}", **row} for i, row in enumerate(wide_rows())]
    assert not load(unique, id="id", features=["f1", "f2"]).cautions


def test_an_id_may_be_in_several_tasks_of_a_long_table_once_each():
    columns = {
        "id": TextColumn("id", ("A", "B", "A", "A", "", "")),
        "task": TextColumn("task", ("t", "t", "u", "u", "u", "u")),
        "target": NumberColumn("target", np.arange(6.0)),
    }
    table = Table("long.csv", columns)
    assert "1 row of long.csv has an id" in repeated_ids(table, "id", "task")
    assert "'A', row 2 and row 3" in repeated_ids(table, "id", "task")
    assert "2 rows of long.csv have" in repeated_ids(table, "id")
    assert not repeated_ids(table, "compound")
