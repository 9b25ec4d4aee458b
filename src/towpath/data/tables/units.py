"""What is dealt to the splits, and how its targets become codes or numbers.

A unit is a task of a table with tasks, and a class of a table that has labels only. No unit is in
two splits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.data.pool import NO_GROUP
from towpath.data.tables.cells import number_text
from towpath.data.tables.columns import Column, NumberColumn
from towpath.data.tables.table_task import TableTask
from towpath.wording import quoted

Kind = Literal["auto", "classification", "regression"]
FEW = 20
"""whole numbers of at most so many different values are taken for classes"""
_NAMED = 5


@dataclass(frozen=True, eq=False)
class Unit:
    """A task, or a class, with the rows that were measured and their targets as they were read."""

    name: str
    rows: NDArray[np.int64] = field(repr=False)  # [n]
    numbers: NDArray[np.float64] | None = field(default=None, repr=False)  # [n]
    words: tuple[str, ...] = field(default=(), repr=False)  # [n], where the targets are text
    group: str = NO_GROUP

    def within(self, usable: NDArray[np.bool_]) -> "Unit":
        """Return the unit without the rows that cannot be used.

        Args:
            usable: of every row of the table, `[N]`.
        """
        here = usable[self.rows]
        if here.all():
            return self
        numbers = None if self.numbers is None else self.numbers[here]
        words = tuple(word for word, kept in zip(self.words, here, strict=False) if kept)
        return Unit(self.name, self.rows[here], numbers, words, self.group)


def unit_of(name: str, column: Column, rows: NDArray[np.int64]) -> Unit:
    """Return the unit of some rows of a target column; empty cells are left out.

    Args:
        name: the unit's name.
        column: the targets of all rows.
        rows: the rows of the unit.
    """
    rows = rows[~column.missing[rows]]
    if isinstance(column, NumberColumn):
        return Unit(name, rows, column.values[rows])
    return Unit(name, rows, None, tuple(column.texts[row] for row in rows))


def decided_kind(kind: Kind, units: Sequence[Unit], name: str) -> tuple[bool, str]:
    """Return whether the targets are real numbers, and a note that says why.

    Args:
        kind: what the user asked for.
        units: all units.
        name: the table, for messages.
    """
    worded = next((unit for unit in units if unit.words), None)
    if kind == "regression":
        if worded is not None:
            raise DataError(
                f"{name} has the target {quoted(worded.words[0])} in {quoted(worded.name)}; "
                "expected numbers for a regression. Correct it, or choose kind: classification."
            )
        return True, "regression, as asked for"
    if kind == "classification":
        return False, "classification, as asked for"
    if worded is not None:
        return False, "classification, because targets are text (kind: regression is the other)"
    values = [np.unique(unit.numbers) for unit in units if unit.numbers is not None]
    distinct = np.unique(np.concatenate(values)) if values else np.zeros(0)
    if len(distinct) <= FEW and bool((distinct == np.round(distinct)).all()):
        shown = ", ".join(number_text(value) for value in distinct[:4].tolist())
        more = ", ..." if len(distinct) > 4 else ""
        return False, (
            f"classification, because targets are few whole numbers ({shown}{more}); if they are "
            "quantities, set kind: regression"
        )
    return True, (
        "regression, because targets are real numbers or many whole ones; if they are classes, set "
        "kind: classification"
    )


def coded(unit: Unit, regression: bool) -> TableTask:
    """Return the unit as a task; classes are numbered in the order of their values or names.

    Args:
        unit: a task of the table.
        regression: whether its targets are real numbers.
    """
    if regression:
        assert unit.numbers is not None, "words were refused when the kind was decided"
        return TableTask(unit.name, unit.group, unit.rows, unit.numbers)
    if unit.numbers is not None:
        values, codes = np.unique(unit.numbers, return_inverse=True)
        labels = tuple(number_text(value) for value in values.tolist())
    else:
        names = sorted(set(unit.words))
        code_of = {name: code for code, name in enumerate(names)}
        labels, codes = tuple(names), np.array([code_of[word] for word in unit.words], np.int64)
    return TableTask(unit.name, unit.group, unit.rows, codes.astype(np.int64), labels)


def too_small(unit: Unit, regression: bool) -> str:
    """Return why no episode can be made of a unit, or an empty text.

    An episode needs a row of each of two classes for the support and one for the query.
    """
    if not len(unit.rows):
        return "no row was measured"
    if regression:
        if len(unit.rows) < 2:
            return "one row only"
        assert unit.numbers is not None
        return "" if np.ptp(unit.numbers) > 0 else "the same number in all rows"
    task = coded(unit, regression)
    if len(task.labels) < 2:
        return "one class only"
    return "" if task.at_least(2, 2) else "fewer than two classes with two rows"


def class_too_small(unit: Unit) -> str:
    """Return why no episode can have a class of a table of labels, or an empty text."""
    return "" if len(unit.rows) >= 2 else "fewer than two rows"


def kept(
    units: Sequence[Unit], reason: Callable[[Unit], str], what: str
) -> tuple[list[Unit], list[str]]:
    """Return the units that can be used, and notes that count and name the others by reason.

    Args:
        units: all units.
        reason: why a unit cannot be used; empty if it can.
        what: what a unit is called, in the plural.
    """
    good: list[Unit] = []
    others: dict[str, list[str]] = {}
    for unit in units:
        why = reason(unit)
        if why:
            others.setdefault(why, []).append(unit.name)
        else:
            good.append(unit)
    notes = [
        f"left out {len(names):,} of {len(units):,} {what} ({why}): {named(names)}"
        for why, names in others.items()
    ]
    return good, notes


def named(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    shown = ", ".join(quoted(name) for name in names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED:,} more"
