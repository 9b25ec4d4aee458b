"""Features that are computed from text, once, and kept in the cache under a key of the text."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towpath.data.entries import EntryKind, Index, Plan
from towpath.data.errors import DataError
from towpath.data.tables.columns import Table
from towpath.data.tables.features import Part, check_size
from towpath.wording import quoted, shortened

_NAMED = 5


def _unusable(index: Index) -> tuple[int, ...]:
    return tuple(int(row) for row in index["unusable"])


_FEATURES = EntryKind(
    "features.npy",
    "features.json",
    np.dtype(np.float32),
    _unusable,
    doing="computing",
    what="The computed {} features",
    every_block=True,  # they are small beside images, and a wrong number looks like a right one
)


@dataclass(frozen=True)
class Computation:
    """How the text of a row becomes numbers.

    `fill` writes the features of one text into a row `[D]` and returns whether the text could be
    used. `recipe` is everything that decides the result: options, versions.
    """

    name: str
    recipe: str
    width: int
    fill: Callable[[str, NDArray[np.float32]], bool]
    wrong: str
    """what is wrong with a text that cannot be used, as in: is no molecule"""


def computed_part(table: Table, column: str, computation: Computation) -> Part:
    """Return the features computed of a column of text, from the cache if it has them.

    Args:
        table: the table.
        column: its column.
        computation: how the text of a row becomes numbers.
    """
    texts = table.columns[column].texts
    check_size(table.name, len(texts), computation.width)
    source = hashlib.sha256()
    for text in texts:
        source.update(hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest())
    content = source.hexdigest()
    key = hashlib.sha256(f"{computation.recipe} {content}".encode()).hexdigest()

    def plan() -> Plan:
        """Say how the array is filled; equal texts are computed once."""

        def fill(array: NDArray[Any]) -> Callable[[list[int]], Index]:
            """Compute every row; the index says which could not be."""
            unusable: set[int] = set()
            first: dict[str, int] = {}
            for row, text in enumerate(texts):
                same = first.setdefault(text, row)
                if same != row and same not in unusable:
                    array[row] = array[same]
                elif not text or not computation.fill(text, array[row]):
                    array[row] = np.nan
                    unusable.add(row)
            if len(unusable) == len(texts):
                raise DataError(
                    f"{table.name} has no row with features: every {quoted(column)} "
                    f"{computation.wrong}, first {quoted(texts[0])}; expected others. Correct the "
                    "column, or name another one."
                )
            return lambda _: {"unusable": sorted(unusable)}

        return Plan((len(texts), computation.width), fill)

    entry = _FEATURES.stored(computation.name, key, plan)
    usable = np.ones(len(texts), dtype=np.bool_)
    usable[list(entry.facts)] = False
    names = tuple(f"{column}.{i}" for i in range(computation.width))
    notes = _notes(table, texts, column, computation, entry.facts)
    # The recipe with its versions is not part of the content: a run records data, not libraries.
    return Part(entry.array, names, False, content, usable, notes)


def _notes(
    table: Table,
    texts: Sequence[str],
    column: str,
    computation: Computation,
    unusable: Sequence[int],
) -> tuple[str, ...]:
    notes = [f"{computation.width:,} features of {quoted(column)}: {computation.name}"]
    if unusable:
        shown = ", ".join(
            f"{table.place(row)} ({shortened(quoted(texts[row]), 60)})" for row in unusable[:_NAMED]
        )
        more = f" and {len(unusable) - _NAMED:,} more" if len(unusable) > _NAMED else ""
        notes.append(
            f"left out {len(unusable):,} of {len(texts):,} rows whose {quoted(column)} "
            f"{computation.wrong}: {shown}{more}"
        )
    return tuple(notes)
