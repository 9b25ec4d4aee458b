"""A table is read by the ending of its name, once."""

import numpy as np
import pytest

from tests.data.tables.table_files import csv_bytes, npz_bytes, wide_rows
from towpath.data.errors import DataError
from towpath.data.tables.reading import is_table_name, read_table


@pytest.mark.parametrize("name", ["a.csv", "A.CSV", "a.tsv", "a.csv.gz", "a.parquet", "a.npz"])
def test_tables_are_known_by_their_names(name):
    assert is_table_name(name)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "csv", "folder", "a.xlsx"])
def test_other_files_are_not(name):
    assert not is_table_name(name)


def test_a_file_is_parsed_once_until_it_changes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(csv_bytes(wide_rows()))
    first = read_table(path)
    assert read_table(path) is first
    assert read_table(path, frozenset(("a",))) is not first
    path.write_bytes(csv_bytes(wide_rows(20)))
    assert len(read_table(path)) == 20


def test_the_kind_of_file_is_that_of_its_name(tmp_path):
    (tmp_path / "t.npz").write_bytes(npz_bytes(x=np.zeros(2), y=np.ones(2)))
    assert list(read_table(tmp_path / "t.npz").columns) == ["x", "y"]
    with pytest.raises(DataError, match="does not end like a table"):
        read_table(tmp_path / "t.xlsx")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no\.csv cannot be read \(No such file"):
        read_table(tmp_path / "no.csv")
