"""Features that are numbers already: columns of the table, or of a file beside it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.data.tables.columns import NumberColumn, Table, TextColumn, listed
from towpath.data.tables.feature_checks import option_error
from towpath.data.tables.features import Part, check_size
from towpath.data.tables.reading import read_table
from towpath.data.tables.side_files import beside
from towpath.data.tables.units import named
from towpath.wording import amount, quoted


@dataclass(frozen=True)
class NumberFeatures:
    """Columns of numbers of the table itself, by name."""

    columns: Sequence[str]
    text_columns: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        names = self.columns
        many = isinstance(names, Sequence) and not isinstance(names, str)
        if not many or not names or not all(isinstance(name, str) for name in names):
            raise option_error("columns", "columns", names, "a list of names of columns")

    def part(self, table: Table, ids: Sequence[str], folder: Path) -> Part:
        """Return the columns; one of text is a `DataError` that says what can be done with it."""
        del ids, folder
        names = [n for name in self.columns for n in table.expanded(name, "data.features")]
        twice = sorted({name for name in names if names.count(name) > 1}) if _repeats(names) else ()
        if twice:
            raise DataError(
                f"data.features names {quoted(twice[0])} twice; expected each column once. Remove "
                "one."
            )
        for name in names:
            column = table.columns[name]
            if isinstance(column, TextColumn) and not column.meant_as_numbers:
                raise DataError(
                    f"data.features names {quoted(name)}, which is a column of text in "
                    f"{table.name}; expected numbers. Use {{kind: hashed-text, column: {name}}} "
                    "for sentences, {kind: morgan, ...} for molecules, or a column 0 / 1 for each "
                    "of few categories."
                )
        return number_part(table, names)


def default_columns(table: Table, besides: frozenset[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns of numbers that are nothing else, and notes on columns of text.

    Args:
        table: the table.
        besides: columns that are tasks, targets, ids or groups.
    """
    rest = {name: column for name, column in table.columns.items() if name not in besides}
    numbers = [name for name, column in rest.items() if isinstance(column, NumberColumn)]
    texts = [name for name in rest if name not in set(numbers)]
    for name in texts:
        column = rest[name]
        if isinstance(column, TextColumn) and column.meant_as_numbers:
            table.numbers(name, "a feature")  # raises: leaving it out in silence would be worse
    if not numbers:
        raise DataError(
            f"{table.name} has no column of numbers beside tasks, targets, ids and groups (it has "
            f"{listed(table.columns)}); expected features. Name a feature file or a kind with "
            "data.features, such as {kind: hashed-text, column: NAME}."
        )
    notes = []
    if texts:
        notes.append(
            f"left out {amount(len(texts), 'column')} of text: {named(texts)}; to use one, name "
            "it in features: {kind: hashed-text, column: NAME}, or {kind: morgan, column: NAME}"
        )
    return tuple(numbers), notes


@dataclass(frozen=True)
class FileFeatures:
    """Columns of a file beside the table, aligned by an id column or row by row."""

    path: str
    id: str = ""
    """the id column of the file; by default `id`, if it has one"""
    columns: tuple[str, ...] = field(default=(), init=False)
    text_columns: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path:
            raise option_error("file", "path", self.path, "the path of a CSV, Parquet or NPZ file")

    def part(self, table: Table, ids: Sequence[str], folder: Path) -> Part:
        """Return all columns of numbers of the file, in the order of the table's rows."""
        path = beside(self.path, folder)
        key = self.id or "id"
        other = read_table(path, frozenset((key,)))
        if self.id and self.id not in other.columns:
            other.column(self.id, "features.id")
        has_ids = key in other.columns
        if not has_ids and len(other) != len(table):
            raise DataError(
                f"{path.name} has {len(other):,} rows and {table.name} {len(table):,}; expected as "
                "many, or an id column in both. Save them aligned, or name the id column with "
                "data.id and features.id."
            )
        names, notes = default_columns(other, frozenset((key,)))
        part = number_part(other, names)
        if has_ids:
            part = _aligned(part, other, key, table, ids)
        return Part(part.values, part.names, True, part.content, None, (*notes, *part.notes))


def _aligned(part: Part, other: Table, key: str, table: Table, ids: Sequence[str]) -> Part:
    if not ids:
        raise DataError(
            f"{other.name} has an id column {quoted(key)}, and {table.name} has none that is "
            "known; expected ids in both. Name the id column of the table with data.id."
        )
    row_of: dict[str, int] = {}
    for row, text in enumerate(other.columns[key].texts):
        if row_of.setdefault(text, row) != row:
            raise DataError(
                f"{other.name} has the id {quoted(text)} twice ({other.place(row_of[text])} and "
                f"{other.place(row)}); expected each once. Remove one."
            )
    lacking = [text for text in ids if text not in row_of]
    if lacking:
        raise DataError(
            f"{other.name} has no row for {len(lacking):,} of the {len(ids):,} ids of "
            f"{table.name}: {named(lacking)}; expected features for each. Add them, or remove the "
            "rows."
        )
    rows = np.array([row_of[text] for text in ids], dtype=np.int64)
    content = hashlib.sha256(part.content.encode() + rows.tobytes()).hexdigest()
    return Part(part.values[rows], part.names, True, content, None, part.notes)


def number_part(table: Table, names: Sequence[str]) -> Part:
    """Return columns of numbers as features; constant ones are dropped, and missing cells counted.

    Args:
        table: the table.
        names: the columns.
    """
    check_size(table.name, len(table), len(names))
    values = np.empty((len(table), len(names)), dtype=np.float32)
    for position, name in enumerate(names):
        values[:, position] = table.numbers(name, "a feature")
    constant = _constant(values)
    notes = []
    if constant.any():
        dropped = [name for name, drop in zip(names, constant, strict=True) if drop]
        notes.append(f"dropped {amount(len(dropped), 'constant column')}: {named(dropped)}")
        values = np.ascontiguousarray(values[:, ~constant])
        names = [name for name, drop in zip(names, constant, strict=True) if not drop]
    if not len(names):
        raise DataError(
            f"{table.name} has only features with the same value in every row; expected columns "
            "that differ between rows. Choose other features."
        )
    holes = int(np.isnan(values).sum())
    if holes:
        touched = [names[i] for i in np.flatnonzero(np.isnan(values).sum(axis=0)).tolist()]
        notes.append(
            f"{holes:,} of {values.size:,} feature values are missing, in "
            f"{amount(len(touched), 'column')} ({named(touched)}): each is filled in with its "
            "column's mean over the training tasks"
        )
    content = hashlib.sha256(repr(tuple(names)).encode() + values.tobytes()).hexdigest()
    return Part(values, tuple(names), True, content, None, tuple(notes))


def _constant(values: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which columns have one value, or none, in all rows that have any."""
    known = ~np.isnan(values)
    low = np.where(known, values, np.inf).min(axis=0)
    high = np.where(known, values, -np.inf).max(axis=0)
    return np.asarray(~(low < high))


def _repeats(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)
