"""Plain values: what JSON does not know becomes null, and readers name what is of another kind."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.runs.plain import (
    Json,
    count_at,
    figure_at,
    figures_at,
    is_count,
    is_figure,
    is_number,
    json_digest,
    json_file,
    known_at,
    number_at,
    object_of,
    plain_json,
    text_at,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_whatever_is_plain_is_json_that_every_reader_agrees_on(value):
    plain = plain_json(value)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain_json(plain) == plain


def test_numbers_that_are_not_finite_and_tuples_are_what_changes():
    found = plain_json({1: (math.nan, 2.5), "b": [math.inf, True]})
    assert found == {"1": [None, 2.5], "b": [None, True]}


def test_the_digest_is_of_the_values_and_not_of_their_layout():
    one: dict[str, Json] = {"a": 1.5, "b": [math.nan]}
    other: dict[str, Json] = {"b": [None], "a": 1.5}
    assert json_digest(one) == json_digest(other)
    assert json_digest(one) != json_digest({**one, "a": 1.25})
    assert json.loads(json_file(one)) == other


def test_kinds_of_numbers():
    values = [3, 0, -1, True, 2.5, math.nan, None, "3"]
    assert [is_count(v) for v in values] == [True, True, *[False] * 6]
    assert [is_number(v) for v in values] == [True, True, True, False, True, False, False, False]
    assert [is_figure(v) for v in values] == [True, True, True, False, True, False, True, False]


def test_values_are_read_by_their_kind():
    content = {"text": "a", "count": 3, "number": 2.5, "null": None, "list": [1.5, None]}
    assert text_at(content, "text") == "a"
    assert count_at(content, "count") == 3
    assert number_at(content, "number") == 2.5
    assert math.isnan(figure_at(content, "null"))
    assert figures_at(content, "list") == [1.5, None]
    assert (known_at(content, "null"), known_at(content, "gone")) == (None, None)
    assert known_at(content, "number") == 2.5
    assert object_of(content, "an object") is content


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (text_at, 3),
        (count_at, -1),
        (count_at, True),
        (count_at, 1.5),
        (number_at, "1"),
        (number_at, math.inf),
        (figure_at, "1"),
        (figures_at, [1.0, "a"]),
        (figures_at, {"a": 1}),
        (known_at, "1"),
    ],
)
def test_a_value_of_another_kind_is_named(read, value):
    with pytest.raises(TypeError, match="key is "):
        read({"key": value}, "key")


def test_what_is_no_object_is_told_with_what_it_should_be():
    with pytest.raises(TypeError, match=r"\[3\] is not a run"):
        object_of([3], "a run")
