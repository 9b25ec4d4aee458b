"""A set is verified by what it says of itself."""

import pytest

from towpath.data import SETS
from towpath.data.data_set import DataSet, nothing
from towpath.data.errors import DataError
from towpath.data.set_report import Report
from towpath.data.verification import require, verify


def load(**_options):
    raise AssertionError("a set that is built in is there")


def test_a_new_set_is_verified_by_its_own_function(monkeypatch, tmp_path):
    def empty(root):
        return Report("mine", (f"looked in {root}",), ("it has 0 classes; expected 5",))

    entry = DataSet("mine", "", "", "", load, nothing, empty, "Draw them.", built_in=True)
    monkeypatch.setitem(SETS, "mine", entry)
    report = verify("mine", tmp_path)
    assert report.lines == (f"looked in {tmp_path}",)
    with pytest.raises(DataError, match=r"mine: it has 0 classes; expected 5.* Draw them"):
        require(report)
