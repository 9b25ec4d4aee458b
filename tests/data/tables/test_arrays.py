"""NPZ files as tables."""

import numpy as np
import pytest

from tests.data.tables.table_files import npz_bytes
from towpath.data.errors import DataError
from towpath.data.tables.arrays import read_npz
from towpath.data.tables.columns import NumberColumn
from towpath.data.tables.limits import TableLimits


@pytest.fixture
def file(tmp_path):
    def write(**arrays):
        path = tmp_path / "t.npz"
        path.write_bytes(npz_bytes(**arrays))
        return path

    return write


def test_arrays_of_one_and_two_dimensions_are_columns(file):
    path = file(
        x=np.arange(6.0).reshape(3, 2),
        a=np.array([1, 0, 1]),
        name=np.array(["u", "v", "w"]),
        yes=np.array([True, False, True]),
    )
    table = read_npz(path)
    assert list(table.columns) == ["x.0", "x.1", "a", "name", "yes"]
    assert table.arrays == {"x": ("x.0", "x.1")}
    assert table.numbers("x.1", "x").tolist() == [1, 3, 5]
    assert table.numbers("yes", "x").tolist() == [1, 0, 1]
    assert table.columns["name"].texts == ("u", "v", "w")
    assert table.place(2) == "row 2"


def test_whole_numbers_that_are_ids_keep_all_digits(file):
    path = file(id=np.array([2**62 + 1, 5]), x=np.zeros(2))
    assert read_npz(path, frozenset(("id",))).columns["id"].texts == (str(2**62 + 1), "5")


def test_missing_numbers_stay_missing(file):
    column = read_npz(file(x=np.array([np.nan, 1.0]))).columns["x"]
    assert isinstance(column, NumberColumn)
    assert column.missing.tolist() == [True, False]


def test_fortran_order_and_compression_make_no_difference(tmp_path):
    values = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.savez_compressed(tmp_path / "t.npz", x=values)
    table = read_npz(tmp_path / "t.npz")
    assert [table.numbers(f"x.{i}", "x").tolist() for i in range(3)] == values.T.tolist()


def test_too_many_columns_are_refused(file):
    with pytest.raises(DataError, match="12 columns; expected at most 10"):
        read_npz(file(x=np.zeros((2, 12))), limits=TableLimits(columns=10))
    with pytest.raises(DataError, match="more than 20 cells"):
        read_npz(file(x=np.zeros((3, 8))), limits=TableLimits(columns=10, cells=20))
