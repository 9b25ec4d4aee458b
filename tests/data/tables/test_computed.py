"""Computed features are kept in the cache by what they are computed of."""

import numpy as np
import pytest

from towpath.data.errors import DataError
from towpath.data.tables.columns import Table, TextColumn
from towpath.data.tables.computed import Computation, computed_part


def computation(log: list[str], recipe: str = "length 1") -> Computation:
    def fill(text, row):
        log.append(text)
        row[:] = len(text)
        return text != "bad"

    return Computation("length", recipe, 2, fill, "is bad")


def table(*texts: str) -> Table:
    return Table("t.csv", {"s": TextColumn("s", texts)}, tuple(range(2, 2 + len(texts))))


def test_texts_are_computed_once_and_kept(fresh_cache):
    log: list[str] = []
    part = computed_part(table("a", "bbb", "a"), "s", computation(log))
    assert part.values.tolist() == [[1, 1], [3, 3], [1, 1]]
    assert log == ["a", "bbb"]
    again = computed_part(table("a", "bbb", "a"), "s", computation(log))
    assert log == ["a", "bbb"]
    assert isinstance(again.values, np.memmap)
    assert again.content == part.content
    assert not again.standardised


def test_other_text_or_another_recipe_is_computed_anew(fresh_cache):
    log: list[str] = []
    first = computed_part(table("a"), "s", computation(log))
    assert computed_part(table("b"), "s", computation(log)).content != first.content
    other = computed_part(table("a"), "s", computation(log, "length 2"))
    assert log == ["a", "b", "a"]
    assert other.content == first.content  # the data are the same


def test_rows_that_cannot_be_used_are_counted_and_named_from_the_cache_too(fresh_cache):
    log: list[str] = []
    for _ in range(2):
        part = computed_part(table("a", "bad", "", "bad"), "s", computation(log))
        assert part.usable is not None
        assert part.usable.tolist() == [True, False, False, False]
        assert np.isnan(part.values[1]).all()
        assert part.notes[1] == (
            "left out 3 of 4 rows whose 's' is bad: line 3 ('bad'), line 4 (''), line 5 ('bad')"
        )
    assert log == ["a", "bad", "bad"]


def test_nothing_is_kept_if_no_row_can_be_used(fresh_cache):
    with pytest.raises(DataError, match="every 's' is bad, first 'bad'"):
        computed_part(table("bad", ""), "s", computation([]))
    assert list(fresh_cache.iterdir()) == []


def test_a_damaged_entry_is_computed_again(fresh_cache):
    log: list[str] = []
    computed_part(table("a", "b"), "s", computation(log))
    (file,) = fresh_cache.glob("length-*/features.npy")
    content = bytearray(file.read_bytes())
    content[-2] ^= 0xFF
    file.write_bytes(content)
    assert computed_part(table("a", "b"), "s", computation(log)).values.tolist() == [[1, 1]] * 2
    assert log == ["a", "b"] * 2
