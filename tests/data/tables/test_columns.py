"""What is a number, what is text, and how a wrong cell is pointed at."""

import numpy as np
import pytest

from towpath.data.errors import DataError
from towpath.data.tables.cells import number_of, number_text
from towpath.data.tables.columns import (
    NumberColumn,
    Table,
    TextColumn,
    check_names,
    listed,
    make_column,
)


def column(*cells: str, as_text: bool = False):
    return make_column("t.csv", "x", cells, range(2, 2 + len(cells)), as_text)


@pytest.mark.parametrize("text", ["", "NA", "n/a", "NaN", "nan", "null", "None"])
def test_words_for_missing_are_missing(text):
    assert np.isnan(number_of(text))
    assert column("1", text).missing.tolist() == [False, True]
    assert column("word", text).texts == ("word", "")


@pytest.mark.parametrize("text", ["inf", "-Infinity", "1e400", "-3.5e38", "9" * 1000])
def test_numbers_beyond_single_precision_are_infinite(text):
    assert number_of(text) == np.inf
    with pytest.raises(DataError, match="line 3; expected a finite number"):
        column("1", text)


def test_blanks_around_a_cell_do_not_count():
    assert column(" 1 ", "\t2").values.tolist() == [1.0, 2.0]
    assert column(" word ", "x").texts == ("word", "x")


def test_true_and_false_alone_are_one_and_zero():
    found = column("True", "false", "", "TRUE")
    np.testing.assert_array_equal(found.values, [1, 0, np.nan, 1])
    assert isinstance(column("true", "false", "maybe"), TextColumn)
    assert isinstance(column("true", "1"), TextColumn)


def test_ids_keep_their_leading_zeros_and_long_digits():
    ids = ("007", "7", "12345678901234567890")
    assert column(*ids, as_text=True).texts == ids


def test_numbers_are_written_as_people_do():
    assert NumberColumn("x", np.array([1.0, -2.5, np.nan, 1e300])).texts == (
        "1",
        "-2.5",
        "",
        "1e+300",
    )
    assert number_text(123456789.0) == "123456789"


def test_columns_that_were_meant_as_numbers_are_told_from_text():
    assert column("1", "2", "n.d.").meant_as_numbers
    assert column("1,5", "2,5").meant_as_numbers
    assert not column("red", "green", "7").meant_as_numbers
    assert not TextColumn("x", ("", "")).meant_as_numbers


def test_the_first_cell_that_is_no_number_is_pointed_at():
    cells = column("1", "", "n.d.", "2")
    table = Table("t.csv", {"x": cells}, (2, 3, 4, 5))
    with pytest.raises(DataError, match=r"'n\.d\.' in column 'x', line 4; .* in 2 other cells"):
        table.numbers("x", "a feature")


def test_a_column_is_found_or_the_nearest_suggested():
    table = Table("t.csv", {"weight": column("1", "2")}, arrays={"w": ("weight",)})
    assert table.column("weight", "data.id") is table.columns["weight"]
    assert table.expanded("w", "data.features") == ("weight",)
    assert (table.place(1), Table("t", table.columns, (2, 9)).place(1)) == ("row 1", "line 9")
    with pytest.raises(DataError, match=r"data.id is 'wieght'.*Did you mean 'weight'"):
        table.column("wieght", "data.id")


def test_names_are_checked():
    check_names("t", ["1", "b"], 2)
    for names, words in ((["a", "a"], "two columns"), (["", "b"], "no name"), (["1", "2"], "only")):
        with pytest.raises(DataError, match=words):
            check_names("t", names, 9)
    with pytest.raises(DataError, match="3 columns; expected at most 2"):
        check_names("t", ["a", "b", "c"], 2)


def test_many_names_are_shortened():
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(map(str, range(1000))).endswith("'11' and 988 more")
