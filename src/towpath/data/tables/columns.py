"""A table in memory: columns of numbers and columns of text, all of the same length.

A cell that was not measured is NaN in a column of numbers and empty in a column of text. A column
that has both numbers and words stays text; whoever needs numbers of it calls `numbers`, which
answers with the first cell that is none, and with what to do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.data.tables.cells import (
    MISSING,
    advice,
    is_number,
    number_of,
    number_text,
    refuse_infinite,
)
from towpath.wording import nearest, quoted

_TRUTH = {"true": 1.0, "false": 0.0}
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers; NaN is a value that is missing."""

    name: str
    values: NDArray[np.float64] = field(repr=False)  # [N]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are empty: `[N]`."""
        return np.isnan(self.values)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The cells as text, whole numbers without a point; an empty cell is empty."""
        return tuple(number_text(value) for value in self.values.tolist())


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of text; an empty text is a value that is missing."""

    name: str
    texts: tuple[str, ...] = field(repr=False)  # [N]

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are empty: `[N]`."""
        return np.array([not text for text in self.texts], dtype=np.bool_)

    @cached_property
    def numeric(self) -> int:
        """How many cells are numbers."""
        return sum(1 for text in self.texts if is_number(text))

    @property
    def meant_as_numbers(self) -> bool:
        """Whether most cells are numbers, or look like numbers that were written otherwise."""
        filled = [text for text in self.texts if text]
        alike = sum(1 for text in filled if is_number(text) or advice(text))
        return bool(filled) and 2 * alike >= len(filled)


Column = NumberColumn | TextColumn


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, with what is needed to point at a cell.

    `arrays` are names that stand for several columns: an array `x` of two dimensions in an NPZ file
    has the columns `x.0`, `x.1`, and so on.
    """

    name: str
    columns: Mapping[str, Column] = field(repr=False)
    lines: tuple[int, ...] = field(default=(), repr=False)  # of the file; empty: rows from 0 on
    arrays: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self.columns.values()}
        assert len(lengths) == 1, "the readers give columns of one length"

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def place(self, row: int) -> str:
        """Return where a row is, for people: its line in a text file, else its number."""
        return f"line {self.lines[row]}" if self.lines else f"row {row}"

    def column(self, name: object, what: str) -> Column:
        """Return the column of this name.

        Args:
            name: the column as an option names it.
            what: the option, for the message.
        """
        if not isinstance(name, str) or name not in self.columns:
            raise DataError(
                f"{what} is {quoted(name)}, and {self.name} has no such column; expected one of "
                f"{listed(self.columns)}.{nearest(name, self.columns)} Correct the name."
            )
        return self.columns[name]

    def expanded(self, name: str, what: str) -> tuple[str, ...]:
        """Return the columns that a name stands for: itself, or those of an array of an NPZ file.

        Args:
            name: a column, or an array of two dimensions.
            what: the option, for the message.
        """
        if name in self.arrays:
            return self.arrays[name]
        return (self.column(name, what).name,)

    def numbers(self, name: str, what: str) -> NDArray[np.float64]:
        """Return the values `[N]` of a column; one with text is a `DataError` that names the cell.

        Args:
            name: the column.
            what: what the numbers are for, for the message.
        """
        column = self.columns[name]
        if isinstance(column, NumberColumn):
            return column.values
        row = next(i for i, t in enumerate(column.texts) if t and not is_number(t))
        text = column.texts[row]
        told = advice(text)
        others = f", as in {column.numeric:,} other cells" if column.numeric else ""
        remedy = (
            f"It looks like {told}, or name the columns to use with data.features and data.tasks."
            if told
            else "Correct the cell, leave it empty if it was not measured, or take the column out."
        )
        raise DataError(
            f"{self.name} has {quoted(text)} in column {quoted(name)}, {self.place(row)}; expected "
            f"a number{others}, for {what}. {remedy}"
        )


def make_column(
    table: str, name: str, cells: Sequence[str], lines: Sequence[int], as_text: bool
) -> Column:
    """Return the column of these cells: of numbers if all are, else of text.

    A column that holds nothing but true and false is one of numbers 1 and 0.

    Args:
        table: the file, for messages.
        name: the column.
        cells: the cells as they are in the file.
        lines: the line of each in the file.
        as_text: whether to keep it as text whatever it holds: ids keep their leading zeros.
    """
    if not as_text:
        # One look at each different text: most cells of a table of assays are 0, 1 or empty.
        seen = _Numbers()
        numbers = np.fromiter(map(seen.__getitem__, cells), np.float64, len(cells))
        if not seen.words:
            if np.isinf(numbers).any():
                row = int(np.flatnonzero(np.isinf(numbers))[0])
                raise refuse_infinite(table, name, f"line {lines[row]}", cells[row].strip())
            return NumberColumn(name, numbers)
        if len(seen.words) == len(seen.filled) and seen.words <= _TRUTH.keys():
            truth = [_TRUTH.get(cell.strip().lower(), np.nan) for cell in cells]
            return NumberColumn(name, np.array(truth))
    stripped = [cell.strip() for cell in cells]
    return TextColumn(name, tuple("" if cell.lower() in MISSING else cell for cell in stripped))


class _Numbers(dict[str, float]):
    """The number of each cell that was looked up, and, in lower case, what was seen besides."""

    def __init__(self) -> None:
        super().__init__()
        self.words: set[str] = set()  # cells that are text
        self.filled: set[str] = set()  # cells that are not empty

    def __missing__(self, cell: str) -> float:
        text = cell.strip()
        value = number_of(text)
        if value is None:
            self.words.add(text.lower())
        if value is None or value == value:
            self.filled.add(text.lower())
        self[cell] = np.nan if value is None else value
        return self[cell]


def check_names(table: str, names: Sequence[str], largest: int) -> None:
    """Raise a `DataError` unless every column has a name of its own.

    Args:
        table: the file, for messages.
        names: the names of the columns.
        largest: how many columns there may be.
    """
    if len(names) > largest:
        raise DataError(
            f"{table} has {len(names):,} columns; expected at most {largest:,}. Leave out what is "
            "not needed, or put the features into an NPZ file as one array."
        )
    if any(names) and all(is_number(name) or not name for name in names):
        raise DataError(
            f"{table} has only numbers in its first line ({listed(names)}); expected the names of "
            "the columns there. Add a line with names."
        )
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not name:
            raise DataError(
                f"{table} has no name for column {position + 1} of {len(names)}; expected a name "
                "for each in the first line. Name it, or remove it (pandas writes such a column "
                "unless told index=False)."
            )
        if name in seen:
            raise DataError(
                f"{table} has two columns named {quoted(name)}; expected each name once. Rename or "
                "remove one."
            )
        seen.add(name)


def listed(names: Iterable[str]) -> str:
    """Return some names for a message: all of a few, the first and how many more of many."""
    known = list(names)
    shown = ", ".join(quoted(name) for name in known[:_SHOWN])
    return shown if len(known) <= _SHOWN else f"{shown} and {len(known) - _SHOWN:,} more"
