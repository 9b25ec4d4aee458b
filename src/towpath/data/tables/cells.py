"""What a cell of a table holds: a number, nothing, or text that may have been meant as a number."""

import re

import numpy as np

from towpath.data.errors import DataError
from towpath.wording import quoted

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none"))
"""cells, in lower case, that mean: not measured"""
LARGEST_NUMBER = float(np.finfo(np.float32).max)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
ADVICE = (
    (re.compile(r"=.*"), "a formula, which is not computed here: save the values instead"),
    (
        re.compile(r"[+-]?\d{1,3}(?:[,.' ]\d{3})+(?:[.,]\d+)?"),
        "a number with separators of thousands: save it without them",
    ),
    (re.compile(r"[+-]?\d+,\d+"), "a number with a decimal comma: save it with a point"),
    (
        re.compile(r"\d{4}-\d{1,2}-\d{1,2}.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}.*"),
        "a date: replace it by a number, such as days since the first one",
    ),
    (re.compile(r"[+-]?[\d.]+ ?%"), "a percentage: save the number alone"),
    (re.compile(r"[<>≤≥~] ?[\d.]+"), "a bound: save a number, or leave the cell empty"),
    (re.compile(r"[$€£¥] ?[\d.,]+|[\d.,]+ ?[$€£¥]"), "an amount of money: save the number alone"),
)
"""patterns of cells that were meant to be numbers, and what to do about them"""


def is_number(text: str) -> bool:
    """Return whether a cell holds a number in plain digits, with or without an exponent."""
    return _NUMBER.fullmatch(text) is not None


def number_of(text: str) -> float | None:
    """Return the number that a cell holds, NaN if it is empty, None if it is text.

    Infinite numbers, and those too large for what they are used for, are given as infinite.
    """
    if is_number(text):
        value = float(text)
        return value if abs(value) <= LARGEST_NUMBER else np.inf
    if text.lower() in MISSING:
        return np.nan
    return np.inf if _INFINITE.fullmatch(text) else None


def number_text(value: float) -> str:
    """Return a number as people write it, whole ones without a point; NaN is empty.

    >>> number_text(1.0), number_text(0.25), number_text(float("nan"))
    ('1', '0.25', '')
    """
    if value != value:  # NaN
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def advice(text: str) -> str:
    """Return what a cell that is no number was meant to be and what to do, or an empty text."""
    return next((told for pattern, told in ADVICE if pattern.fullmatch(text)), "")


def refuse_infinite(name: str, column: str, place: str, text: str) -> DataError:
    """Return the error to raise for a number that is not finite or not of this size.

    Args:
        name: the file.
        column: the column.
        place: the line or row.
        text: the cell.
    """
    return DataError(
        f"{name} has {quoted(text)} in column {quoted(column)}, {place}; expected a finite number "
        f"of at most {LARGEST_NUMBER:.1e}. Correct it, or leave the cell empty if it was not "
        "measured."
    )
