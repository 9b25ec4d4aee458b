"""Text as hashed n-grams."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.data.errors import DataError
from towpath.data.tables.columns import Table, TextColumn
from towpath.data.tables.hashed_text import HashedTextFeatures, hash_text


def hashed(text: str, features: int = 2048) -> np.ndarray:
    row = np.zeros(features, np.float32)
    assert hash_text(text, row)
    return row


def test_the_numbers_are_the_same_on_every_machine():
    row = hashed("ab", 64)
    # " a", "ab", "b ", " ab", "ab ", " ab ": six n-grams, placed by their CRC-32
    assert np.count_nonzero(row) == 6
    np.testing.assert_allclose(np.abs(row[row != 0]), 6**-0.5, rtol=1e-6)
    assert np.flatnonzero(row).tolist() == [18, 19, 24, 32, 40, 45]


@given(st.text(min_size=1, max_size=40))
@settings(max_examples=80, deadline=None)
def test_rows_have_length_one_or_are_empty(text):
    row = np.zeros(256, np.float32)
    if hash_text(text, row):
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)
    else:
        assert not row.any()


def test_case_and_blanks_make_no_difference_and_like_texts_are_near():
    np.testing.assert_array_equal(hashed("Book a  flight"), hashed(" book a flight "))
    near = hashed("book a flight") @ hashed("boook a flihgt")
    far = hashed("book a flight") @ hashed("close my account")
    assert near > 0.5 > far


def test_rows_without_text_are_left_out(fresh_cache):
    table = Table("t.csv", {"say": TextColumn("say", ("hello", "", "good bye"))})
    part = HashedTextFeatures("say", 32).part(table, (), Path())
    assert part.usable is not None
    assert part.usable.tolist() == [True, False, True]
    np.testing.assert_allclose(part.values[2], hashed("good bye", 32))
    with pytest.raises(DataError, match=r"found features=0; expected a whole number"):
        HashedTextFeatures("say", 0)
