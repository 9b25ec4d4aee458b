"""Files beside a table."""

import pytest

from towpath.data.errors import DataError
from towpath.data.tables.side_files import beside, pairs_of_file, text_of


def test_relative_paths_begin_at_the_table(tmp_path):
    assert beside("m.csv", tmp_path) == tmp_path / "m.csv"
    assert beside(str(tmp_path / "x" / "m.csv"), tmp_path / "y") == tmp_path / "x" / "m.csv"


def test_pairs_are_text_whatever_they_hold(tmp_path):
    (tmp_path / "m.csv").write_text("task,group\n007,1\n7,2\n")
    assert pairs_of_file("m.csv", tmp_path, "group") == {"007": "1", "7": "2"}


def test_a_name_may_come_twice_if_it_is_said_the_same(tmp_path):
    (tmp_path / "m.csv").write_text("task,group\na,1\na,1\n")
    assert pairs_of_file("m.csv", tmp_path, "group") == {"a": "1"}
    (tmp_path / "m.csv").write_text("task,group\na,1\nb,\n")
    with pytest.raises(DataError, match="gives 'b' the group ''"):
        pairs_of_file("m.csv", tmp_path, "group")


def test_a_word_is_a_text_that_is_not_empty():
    assert text_of("x", "groups.prefix") == "x"
    for wrong in ("", None, 3):
        with pytest.raises(DataError, match=r"groups\.prefix is .* expected a word"):
            text_of(wrong, "groups.prefix")
