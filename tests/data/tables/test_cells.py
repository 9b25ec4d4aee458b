"""What is a number, and what a cell was meant to be."""

import pytest

from towpath.data.tables.cells import advice, number_of


@pytest.mark.parametrize("text", ["0", "-1.5", "+2", ".5", "5.", "1e-3", "2E+10", "007"])
def test_numbers_are_those_of_python_in_plain_digits(text):
    assert number_of(text) == float(text)


@pytest.mark.parametrize("text", ["1_000", "1,5", "0x1F", "١٢", "1 000", "--1", "1e", "e5"])
def test_what_python_or_people_would_read_otherwise_is_text(text):
    assert number_of(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [("=A1", "formula"), ("1,234.5", "thousands"), ("3,14", "comma"), ("2024-05-01", "date")],
)
def test_advice_names_what_was_meant(text, words):
    assert words in advice(text)
    assert advice("word") == ""
