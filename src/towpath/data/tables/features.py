"""Features of the rows: a matrix `[N, D]` that is put together from parts of several kinds.

A recipe names them in the option `features`: columns, a file beside the table, fingerprints of
molecules, or hashed text; a list joins several. Each kind is a small class in `FEATURE_KINDS`
whose fields are its options.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.data.tables.columns import Table

LARGEST_MATRIX = 4 * 2**30
"""bytes of the features of one table"""
FeaturesOption: TypeAlias = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] | None


@dataclass(frozen=True, eq=False)
class Part:
    """Some columns of the features, as one kind made them."""

    values: NDArray[np.float32] = field(repr=False)  # [N, d]; NaN is missing
    names: tuple[str, ...] = field(repr=False)  # [d] for people
    standardised: bool
    """whether the columns are standardised when an episode is made"""
    content: str
    """digest of what the part was made of"""
    usable: NDArray[np.bool_] | None = field(default=None, repr=False)
    """which rows `[N]` have features; None for all"""
    notes: tuple[str, ...] = ()


class FeatureKind(Protocol):
    """A kind of features; its fields are its options."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns of the table that it reads, which are then no tasks."""

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Those of them that are read as text, whatever they hold."""

    def part(self, table: Table, ids: Sequence[str], folder: Path) -> Part:
        """Return the features of all rows.

        Args:
            table: the table.
            ids: the id of each row, or nothing if the table has no id column.
            folder: the table's folder, where relative paths begin.
        """


@dataclass(frozen=True, eq=False)
class Features:
    """The features of all rows, and which rows have any."""

    values: NDArray[np.float32] = field(repr=False)  # [N, D]
    names: tuple[str, ...] = field(repr=False)  # [D]
    standardised: NDArray[np.bool_] = field(repr=False)  # [D]
    usable: NDArray[np.bool_] = field(repr=False)  # [N]
    notes: tuple[str, ...]
    content: str


def joined(parts: Sequence[Part], table: Table) -> Features:
    """Return the features that several parts make, side by side.

    Args:
        parts: at least one part.
        table: the table whose rows they describe.
    """
    width = sum(part.values.shape[1] for part in parts)
    check_size(table.name, len(table), width)
    usable = np.ones(len(table), dtype=np.bool_)
    for part in parts:
        if part.usable is not None:
            usable &= part.usable
    if not usable.any():
        raise DataError(
            f"{table.name} has no row with features; expected at least one. "
            f"{' '.join(note for part in parts for note in part.notes)}. Correct the table."
        )
    # A part alone stays the memory map that it may be.
    values = parts[0].values if len(parts) == 1 else np.concatenate([p.values for p in parts], 1)
    standardised = np.concatenate([np.full(len(p.names), p.standardised) for p in parts])
    names = tuple(name for part in parts for name in part.names)
    digest = hashlib.sha256(" ".join(part.content for part in parts).encode()).hexdigest()
    notes = tuple(note for part in parts for note in part.notes)
    return Features(values, names, standardised, usable, notes, digest)


def check_size(name: str, rows: int, width: int) -> None:
    """Raise a `DataError` if a matrix of features would be too large.

    Args:
        name: the table.
        rows: N.
        width: D.
    """
    if rows * width * 4 > LARGEST_MATRIX:
        raise DataError(
            f"{name} would have features of {rows:,} rows x {width:,} columns, "
            f"{rows * width * 4 / 2**30:,.1f} GiB; expected at most {LARGEST_MATRIX / 2**30:.0f} "
            "GiB. Use fewer features or fewer rows."
        )
