"""Text for users: suggested spellings, values in messages, durations, console lines, CSV cells.

Every message to a user is one line that is short enough to be read. Text from elsewhere (file
names, class names, values of a recipe) is shown as it is, never taken for markup or a formula.
"""

import difflib
import unicodedata
from collections.abc import Iterable
from typing import Any, Protocol

LONGEST_MESSAGE = 1500
"""the most characters of a message; its middle is cut, because what was found is at its beginning
and what to do at its end"""
LONGEST_VALUE = 200
"""the most characters of a value that is quoted within a message"""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class Printer(Protocol):
    """The method of a rich console that is used here."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print the objects in the way of `rich.console.Console.print`."""


def nearest(word: object, known: Iterable[str], cutoff: float = 0.5) -> str:
    """Return ` Did you mean 'uniform'?` if a known word is similar, else an empty string.

    Args:
        word: what was found.
        known: the words that were expected.
        cutoff: the least similarity, from 0 (any word) to 1 (the same word).
    """
    # Shortened, because comparing long text is slow, and it is no misspelling anyway.
    spellings = {name.lower(): name for name in known}
    match = difflib.get_close_matches(str(word)[:LONGEST_VALUE].lower(), spellings, 1, cutoff)
    return f" Did you mean {spellings[match[0]]!r}?" if match else ""


def shortened(text: str, longest: int) -> str:
    """Return the text, or its beginning and end if it is longer than `longest` characters."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail]} ... ({len(text):,} characters) ... {text[-tail:]}"


def quoted(value: object) -> str:
    """Return `repr(value)`, shortened so that it fits into a message."""
    return shortened(repr(value), LONGEST_VALUE)


def amount(count: int, singular: str) -> str:
    """Return a number of things, with a plural that ends in s.

    >>> amount(1, "row"), amount(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {singular}{'' if count == 1 else 's'}"


def one_line(message: object) -> str:
    """Return the message on one line, printable on every console and short enough to be read."""
    text = shortened(" ".join(str(message).split()), LONGEST_MESSAGE)
    return printable(text)


def printable(text: str) -> str:
    """Return the text with control characters, and undecodable bytes of file names, escaped."""
    return "".join(c if _is_plain(c) else f"\\x{ord(c) & 0xFF:02x}" for c in text)


def _is_plain(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs")


def say(console: Printer, text: str) -> None:
    """Print a line of plain text: `[v2]` in a path is part of the path, not markup."""
    console.print(printable(text), highlight=False, markup=False, soft_wrap=True)


def spreadsheet_cell(text: str) -> str:
    """Return the text as a cell of a CSV file that no spreadsheet takes for a formula.

    If need be, it gets an apostrophe before it, which marks text in spreadsheets.
    """
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def seconds_text(value: float | None) -> str:
    """Return a duration as text, in seconds, minutes or hours.

    >>> seconds_text(42.0), seconds_text(300.0), seconds_text(9000.0)
    ('42 s', '5.0 min', '2.5 h')
    """
    if value is None or value != value:
        return "–"
    if value < 120:
        return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"
    return f"{value / 60:.1f} min" if value < 7200 else f"{value / 3600:.1f} h"
