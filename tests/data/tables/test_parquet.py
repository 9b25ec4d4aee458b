"""Parquet files as tables; without pyarrow, one sentence."""

import datetime
import decimal
import sys

import numpy as np
import pytest

from tests.data.tables.table_files import parquet_bytes
from towpath.data.errors import DataError
from towpath.data.tables.columns import NumberColumn, TextColumn
from towpath.data.tables.limits import TableLimits
from towpath.data.tables.parquet import read_parquet


@pytest.fixture
def file(tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra parquet")

    def write(**columns):
        path = tmp_path / "t.parquet"
        path.write_bytes(parquet_bytes(**columns))
        return path

    return write


def test_numbers_truth_values_and_text_are_columns(file):
    table = read_parquet(
        file(
            f=[1.5, None, 2.5],
            n=[1, 2, None],
            yes=[True, False, None],
            d=[decimal.Decimal("1.25"), None, decimal.Decimal("3")],
            name=["u", None, "w"],
        )
    )
    for name, expected in (("f", [1.5, None, 2.5]), ("n", [1, 2, None]), ("d", [1.25, None, 3])):
        column = table.columns[name]
        assert isinstance(column, NumberColumn)
        np.testing.assert_array_equal(column.values, np.array(expected, dtype=float))
    np.testing.assert_array_equal(table.numbers("yes", "x"), [1, 0, np.nan])
    assert table.columns["name"].texts == ("u", "", "w")


def test_dates_are_text_and_ids_keep_their_digits(file):
    path = file(day=[datetime.date(2024, 5, 1)], id=[2**62 + 1])
    assert read_parquet(path).columns["day"].texts == ("2024-05-01",)
    found = read_parquet(path, frozenset(("id",))).columns["id"]
    assert isinstance(found, TextColumn)
    assert found.texts == (str(2**62 + 1),)


def test_infinite_numbers_and_large_tables_are_refused(file):
    with pytest.raises(DataError, match="'inf' in column 'f', row 1"):
        read_parquet(file(f=[0.0, float("inf")]))
    with pytest.raises(DataError, match="more than 3 cells"):
        read_parquet(file(f=[0.0] * 4), limits=TableLimits(cells=3))


def test_without_pyarrow_the_extra_is_named(file, monkeypatch):
    path = file(f=[1.0])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'towpath\[parquet\]'"):
        read_parquet(path)
