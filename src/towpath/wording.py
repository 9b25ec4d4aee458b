"""How towpath speaks: nearest spellings, values in messages, lines on a console, cells of a CSV.

Every message to a user is one line, of a length that can be read, and shows what a stranger wrote
(file names, class names, values of a recipe) as it is: no markup, no line breaks, no formulas.
"""

import difflib
import unicodedata
from collections.abc import Iterable
from typing import Any, Protocol

LONGEST_MESSAGE = 1500
"""characters of a message; what was found stands at its beginning, what to do at its end"""
LONGEST_VALUE = 200
"""characters of a value that is quoted within a message"""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class Printer(Protocol):
    """The part of a rich console that is used here."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, as rich does."""


def nearest(word: object, known: Iterable[str], cutoff: float = 0.5) -> str:
    """` Did you mean 'uniform'?` where a known word is close, else nothing."""
    # what is long is no misspelling, and the comparison would take its time
    match = difflib.get_close_matches(str(word)[:LONGEST_VALUE].lower(), list(known), 1, cutoff)
    return f" Did you mean {match[0]!r}?" if match else ""


def shortened(text: str, longest: int) -> str:
    """The text, or its beginning and its end where it is longer than `longest` characters."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail]} ... ({len(text):,} characters) ... {text[-tail:]}"


def quoted(value: object) -> str:
    """`repr(value)`, shortened for a message."""
    return shortened(repr(value), LONGEST_VALUE)


def one_line(message: object) -> str:
    """The message on one line that can be printed everywhere, and not too long to be read."""
    text = shortened(" ".join(str(message).split()), LONGEST_MESSAGE)
    return printable(text)


def printable(text: str) -> str:
    """The text with control signs, and bytes of file names that are no characters, escaped."""
    return "".join(c if _is_plain(c) else f"\\x{ord(c) & 0xFF:02x}" for c in text)


def _is_plain(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs")


def say(console: Printer, text: str) -> None:
    """A line of plain text: `[v2]` in a path is part of the path, not markup."""
    console.print(printable(text), highlight=False, markup=False, soft_wrap=True)


def spreadsheet_cell(text: str) -> str:
    """The text as a CSV's cell that no spreadsheet takes for a formula.

    An apostrophe before it is the spreadsheets' own sign for text.
    """
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
