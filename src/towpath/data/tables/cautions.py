"""What a user should know of a table before training on it: repeated ids, features like tasks.

Nothing of this is an error, because a table may be meant so; but each costs who does not know it.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from towpath.data.tables.columns import NumberColumn, Table
from towpath.data.tables.layouts import Layout, Long, Wide
from towpath.data.tables.units import FEW, named
from towpath.wording import amount, quoted


def cautions(
    table: Table, layout: Layout, id_column: str, unnamed_features: Sequence[str]
) -> tuple[str, ...]:
    """Return a sentence on each thing that may not be meant so.

    Args:
        table: the table.
        layout: where its tasks are.
        id_column: the column that names the rows; empty for none.
        unnamed_features: the features that are columns which nobody named as features.
    """
    found = [repeated_ids(table, id_column, layout.task if isinstance(layout, Long) else "")]
    if isinstance(layout, Wide):
        found.append(_features_like_tasks(table, layout.columns, unnamed_features))
    return tuple(sentence for sentence in found if sentence)


def repeated_ids(table: Table, id_column: str, task_column: str = "") -> str:
    """Return a sentence on rows that have the id of an earlier row; empty if there are none.

    Args:
        table: the table.
        id_column: the column that names the rows; empty, or not in the table, for none.
        task_column: the column of tasks of a long table, where a compound has a row in each task
            that it was measured in; empty for none.
    """
    if id_column not in table.columns:
        return ""
    ids = table.columns[id_column].texts
    tasks = table.columns[task_column].texts if task_column else ("",) * len(ids)
    first: dict[Hashable, int] = {}
    again = [
        (row, earlier)
        for row, (task, own) in enumerate(zip(tasks, ids, strict=True))
        if own and (earlier := first.setdefault((task, own), row)) != row
    ]
    if not again:
        return ""
    row, earlier = again[0]
    have, they = (
        ("has", "it counts as a row") if len(again) == 1 else ("have", "they count as rows")
    )
    within = " of the same task" if task_column else ""
    return (
        f"{amount(len(again), 'row')} of {table.name} {have} an id that an earlier row{within} has "
        f"(first {quoted(ids[row])}, {table.place(earlier)} and {table.place(row)}): {they} of "
        f"{'its' if len(again) == 1 else 'their'} own, and results by id cannot tell them apart"
    )


def _features_like_tasks(table: Table, tasks: Sequence[str], features: Sequence[str]) -> str:
    """Return a sentence on features that may be tasks that were not named; empty for none."""
    columns = [table.columns[name] for name in tasks]
    known = [c.values[~c.missing] for c in columns if isinstance(c, NumberColumn)]
    classes = np.unique(np.concatenate([np.unique(v) for v in known])) if known else np.zeros(0)
    gaps = all(column.missing.any() for column in columns)
    alike = []
    for name in features:
        column = table.columns.get(name)
        if isinstance(column, NumberColumn) and _like(column, classes, gaps):
            alike.append(name)
    if not alike:
        return ""
    look = "looks like a task" if len(alike) == 1 else "look like tasks"
    which = "it" if len(alike) == 1 else "them"
    return (
        f"{len(alike):,} of {amount(len(features), 'feature')} {look} ({named(alike)}): mostly "
        f"empty, or with no other values than the tasks have. The result of one task may give away "
        f"that of another. To leave {which} out, name the features with data.features; to train on "
        f"{which}, add {which} to data.tasks"
    )


def _like(column: NumberColumn, classes: NDArray[np.float64], gaps: bool) -> bool:
    """Whether a column could be one of the tasks.

    Args:
        column: the column.
        classes: the values of the tasks.
        gaps: whether every task lacks some values: a full column of 0 and 1 is then no task.
    """
    missing = column.missing
    if 2 * int(missing.sum()) > len(missing):
        return True
    few = len(classes) <= FEW and np.isin(column.values[~missing], classes).all()
    return bool(few and (missing.any() or not gaps))
