"""Columns and files of numbers as features."""

from pathlib import Path

import numpy as np
import pytest

from tests.data.tables.table_files import csv_bytes, npz_bytes
from towpath.data.errors import DataError
from towpath.data.tables.comma_separated import read_csv
from towpath.data.tables.feature_columns import (
    FileFeatures,
    NumberFeatures,
    default_columns,
    number_part,
)

ROWS = [
    {
        "id": f"r{i}",
        "x": i,
        "hole": "" if i in (1, 4) else i * i,
        "same": 7,
        "empty": "",
        "a": i % 2,
    }
    for i in range(6)
]
TABLE = read_csv("t.csv", csv_bytes(ROWS), frozenset(("id",)))
HERE = Path()


def test_missing_cells_are_counted_and_constant_columns_dropped():
    part = number_part(TABLE, ["x", "hole", "same", "empty"])
    assert part.names == ("x", "hole")
    assert part.standardised
    np.testing.assert_array_equal(part.values[:, 1], [0, np.nan, 4, 9, np.nan, 25])
    assert part.notes[0] == "dropped 2 constant columns: 'same', 'empty'"
    assert part.notes[1].startswith("2 of 12 feature values are missing, in 1 column ('hole')")


def test_the_default_is_every_number_that_is_nothing_else():
    names, notes = default_columns(TABLE, frozenset(("a", "id")))
    assert names == ("x", "hole", "same", "empty")
    assert notes == []
    names, notes = default_columns(TABLE, frozenset(("a",)))
    assert notes[0].startswith("left out 1 column of text: 'id'; to use one")


def test_columns_are_taken_by_name_in_that_order():
    part = NumberFeatures(["a", "x"]).part(TABLE, (), HERE)
    assert part.values[:3].tolist() == [[0, 0], [1, 1], [0, 2]]
    with pytest.raises(DataError, match="'x' twice"):
        NumberFeatures(["x", "x"]).part(TABLE, (), HERE)
    with pytest.raises(DataError, match="a list of names"):
        NumberFeatures([])


def test_a_file_is_aligned_by_row(tmp_path):
    values = np.arange(12.0).reshape(6, 2)
    (tmp_path / "x.npz").write_bytes(npz_bytes(x=values))
    part = FileFeatures("x.npz").part(TABLE, (), tmp_path)
    assert part.values.tolist() == values.tolist()
    assert part.names == ("x.0", "x.1")


def test_a_file_is_aligned_by_id_whatever_its_order_and_extra_rows(tmp_path):
    rows = [{"id": f"r{i}", "v": 10 * i} for i in (7, 3, 5, 1, 0, 2, 4)]
    (tmp_path / "x.csv").write_bytes(csv_bytes(rows))
    ids = TABLE.columns["id"].texts
    part = FileFeatures("x.csv").part(TABLE, ids, tmp_path)
    assert part.values[:, 0].tolist() == [0, 10, 20, 30, 40, 50]
    with pytest.raises(DataError, match=r"data\.id"):
        FileFeatures("x.csv").part(TABLE, (), tmp_path)
    (tmp_path / "x.csv").write_bytes(csv_bytes([*rows, rows[1]]))
    with pytest.raises(DataError, match="the id 'r3' twice"):
        FileFeatures("x.csv").part(TABLE, ids, tmp_path)


def test_the_content_is_that_of_the_numbers_in_their_order(tmp_path):
    content = number_part(TABLE, ["x", "a"]).content
    assert number_part(TABLE, ["x", "a"]).content == content
    assert number_part(TABLE, ["a", "x"]).content != content
