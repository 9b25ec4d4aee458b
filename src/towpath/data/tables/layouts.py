"""Where the tasks of a table are: in columns (wide), in a task column (long), or in labels.

wide: each task is a column; an empty cell was not measured. long: a column says which task a row
belongs to and another one has the target. labels: there is a target column only; the tasks are made
of its classes, as those of images are, and classes are what splits do not share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.data.tables.cells import number_text
from towpath.data.tables.columns import NumberColumn, Table, TextColumn
from towpath.data.tables.table_task import TableTask
from towpath.data.tables.units import (
    Unit,
    class_too_small,
    coded,
    too_small,
    unit_of,
)
from towpath.wording import quoted


class Layout(Protocol):
    """How tasks are found in a table."""

    @property
    def name(self) -> str:
        """The word for it in recipes."""

    @property
    def units_are(self) -> str:
        """What is dealt to the splits, in the plural: tasks or classes."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold tasks and targets, which are no features."""

    def units(self, table: Table) -> list[Unit]:
        """Return the units with their rows and targets as they were read."""

    def too_small(self, unit: Unit, regression: bool) -> str:
        """Return why no episode can be made with a unit, or an empty text."""

    def tasks(self, units: Sequence[Unit], regression: bool) -> tuple[TableTask, ...]:
        """Return the tasks that the units of one split make."""


@dataclass(frozen=True)
class Wide:
    """Each task is a column, and an empty cell was not measured."""

    columns: tuple[str, ...]
    name: str = "wide"
    units_are: str = "tasks"

    def units(self, table: Table) -> list[Unit]:
        """Return a unit for each task column."""
        every = np.arange(len(table))
        for name in self.columns:
            column = table.columns[name]
            if isinstance(column, TextColumn) and column.meant_as_numbers:
                table.numbers(name, "a task")
        return [unit_of(name, table.columns[name], every) for name in self.columns]

    def too_small(self, unit: Unit, regression: bool) -> str:
        """Return why no episode can be made of a task, or an empty text."""
        return too_small(unit, regression)

    def tasks(self, units: Sequence[Unit], regression: bool) -> tuple[TableTask, ...]:
        """Return each unit as a task."""
        return _each(units, regression)


@dataclass(frozen=True)
class Long:
    """A column says which task a row belongs to, and another one has its target."""

    task: str
    target: str
    name: str = "long"
    units_are: str = "tasks"

    @property
    def columns(self) -> tuple[str, ...]:
        """The task column and the target column."""
        return (self.task, self.target)

    def units(self, table: Table) -> list[Unit]:
        """Return a unit for each name in the task column."""
        column = table.columns[self.target]
        if isinstance(column, TextColumn) and column.meant_as_numbers:
            table.numbers(self.target, "a target")
        tasks = table.columns[self.task]
        if tasks.missing.any():
            row = int(np.flatnonzero(tasks.missing)[0])
            raise DataError(
                f"{table.name} has no task in column {quoted(self.task)}, {table.place(row)} "
                f"({int(tasks.missing.sum()):,} such rows); expected the name of a task in every "
                "row. Fill them in, or remove the rows."
            )
        rows = rows_by_text(tasks.texts)
        return [unit_of(name, column, own) for name, own in rows.items()]

    def too_small(self, unit: Unit, regression: bool) -> str:
        """Return why no episode can be made of a task, or an empty text."""
        return too_small(unit, regression)

    def tasks(self, units: Sequence[Unit], regression: bool) -> tuple[TableTask, ...]:
        """Return each unit as a task."""
        return _each(units, regression)


@dataclass(frozen=True)
class Labels:
    """There is a target column only: episodes draw some of its classes."""

    target: str
    name: str = "labels"
    units_are: str = "classes"

    @property
    def columns(self) -> tuple[str, ...]:
        """The target column."""
        return (self.target,)

    def units(self, table: Table) -> list[Unit]:
        """Return a unit for each class; real numbers are no classes."""
        column = table.columns[self.target]
        if isinstance(column, TextColumn) and column.meant_as_numbers:
            table.numbers(self.target, "a class")
        if isinstance(column, NumberColumn):
            fractions = np.flatnonzero(np.nan_to_num(column.values) % 1)
            if len(fractions):
                row = int(fractions[0])
                raise DataError(
                    f"{table.name} has {number_text(column.values[row])} in column "
                    f"{quoted(self.target)}, {table.place(row)}; expected classes (whole numbers "
                    "or text) in a table without tasks. Name the task column with data.task, for "
                    "a regression."
                )
        rows = rows_by_text(column.texts)
        rows.pop("", None)
        return [Unit(name, own, None, (name,) * len(own)) for name, own in rows.items()]

    def too_small(self, unit: Unit, regression: bool) -> str:
        """Return why no episode can have a class, or an empty text."""
        del regression  # a table of labels has classes only
        return class_too_small(unit)

    def tasks(self, units: Sequence[Unit], regression: bool) -> tuple[TableTask, ...]:
        """Return one task for each group, with the classes of the split that belong to it."""
        groups: dict[str, list[Unit]] = {}
        for unit in units:
            groups.setdefault(unit.group, []).append(unit)
        joined = []
        for group, own in groups.items():
            rows = np.concatenate([unit.rows for unit in own])
            words = tuple(word for unit in own for word in unit.words)
            order = np.argsort(rows, kind="stable")
            unit = Unit(group, rows[order], None, tuple(words[i] for i in order), group)
            joined.append(coded(unit, regression))
        return tuple(task for task in joined if len(task.labels) >= 2)


def _each(units: Sequence[Unit], regression: bool) -> tuple[TableTask, ...]:
    """Each unit as a task, without classes of which there is one row."""
    tasks = (coded(unit, regression).at_least(2, 2) for unit in units)
    return tuple(task for task in tasks if task is not None)


def rows_by_text(texts: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the rows of each text, in the order in which the texts first appear."""
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        rows.setdefault(text, []).append(row)
    return {text: np.array(own, dtype=np.int64) for text, own in rows.items()}
