"""Groups by prefix, column and mapping."""

import numpy as np
import pytest

from tests.data.tables.table_files import csv_bytes
from towpath.data.errors import DataError
from towpath.data.tables.comma_separated import read_csv
from towpath.data.tables.grouping import ByColumn, ByMapping, ByPrefix, NoGroups, groups_from
from towpath.data.tables.layouts import Long, Wide
from towpath.data.tables.units import Unit

TABLE = read_csv(
    "t.csv",
    csv_bytes([{"x": i, "task": f"t{i % 4}", "site": f"s{i % 2}", "y": i % 3} for i in range(24)]),
)
LAYOUT = Long("task", "y")
UNITS = LAYOUT.units(TABLE)


def test_the_prefix_is_what_comes_before_the_first_separator():
    units = [Unit(name, np.arange(2)) for name in ("NVS_ENZ_x", "ATG_y", "alone")]
    found = ByPrefix("_").grouped(units, TABLE, Wide(()))
    assert [unit.group for unit in found] == ["NVS", "ATG", "alone"]


def test_the_column_says_the_group_of_all_rows_of_a_task():
    found = ByColumn("site").grouped(UNITS, TABLE, LAYOUT)
    assert [unit.group for unit in found] == ["s0", "s1", "s0", "s1"]


def test_a_mapping_is_inline_or_a_file(tmp_path):
    (tmp_path / "m.csv").write_text("task,group\nt0,g\nt1,g\nt2,h\nt3,h\n")
    inline = groups_from({"mapping": {"t0": "g", "t1": "g", "t2": "h", "t3": "h"}}, tmp_path)
    for groups in (inline, groups_from({"mapping": "m.csv"}, tmp_path)):
        assert [unit.group for unit in groups.grouped(UNITS, TABLE, LAYOUT)] == list("gghh")


def test_the_option_makes_the_object(tmp_path):
    assert groups_from(None, tmp_path) == NoGroups()
    assert groups_from({"prefix": "_"}, tmp_path) == ByPrefix("_")
    assert groups_from({"column": "site"}, tmp_path) == ByColumn("site")
    assert groups_from({"mapping": {1: 2}}, tmp_path) == ByMapping({"1": "2"})
    for wrong in ({"prefix": "_", "column": "x"}, {}, {"prefix": 3}):
        with pytest.raises(DataError, match="expected"):
            groups_from(wrong, tmp_path)
