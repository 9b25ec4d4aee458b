"""One task of a table: its rows, their targets, and the names of its classes."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.wording import quoted


@dataclass(frozen=True, eq=False)
class TableTask:
    """One task: an assay, a customer, a sensor; or, of a table of labels, the classes of a group.

    `rows` are positions in `features` of the pool. Targets of a classification are class codes
    0..C-1, whose names are `labels`; those of a regression are real numbers, and `labels` is empty.
    """

    name: str
    group: str
    rows: NDArray[np.int64] = field(repr=False)  # [n]
    targets: NDArray[np.int64] | NDArray[np.float64] = field(repr=False)  # [n]
    labels: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.rows.shape != self.targets.shape or self.rows.ndim != 1:
            raise DataError(
                f"The task {quoted(self.name)} has rows of shape {list(self.rows.shape)} and "
                f"targets of shape {list(self.targets.shape)}; expected one target a row. Correct "
                "them."
            )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_regression(self) -> bool:
        """Whether the targets are real numbers, not classes."""
        return not self.labels

    @cached_property
    def by_class(self) -> tuple[NDArray[np.int64], ...]:
        """The rows of each class, by code; a regression has one entry with all rows."""
        if self.is_regression:
            return (self.rows,)
        return tuple(self.rows[self.targets == code] for code in range(len(self.labels)))

    @property
    def class_counts(self) -> tuple[int, ...]:
        """The number of rows of each class, by code; of a regression, the number of rows."""
        return tuple(len(rows) for rows in self.by_class)

    def at_least(self, rows: int, classes: int = 2) -> "TableTask | None":
        """Return the task with the classes that have enough rows, or None if too few are left.

        Args:
            rows: the number of rows that each class must have; in regression, the task.
            classes: the number of such classes that the task must have; regression has none.
        """
        if self.is_regression:
            return self if len(self) >= rows else None
        kept = [code for code, count in enumerate(self.class_counts) if count >= rows]
        if len(kept) < classes:
            return None
        if len(kept) == len(self.labels):
            return self
        code_of = np.full(len(self.labels), -1, dtype=np.int64)
        code_of[kept] = np.arange(len(kept))
        targets = code_of[self.targets.astype(np.int64)]
        here = targets >= 0
        labels = tuple(self.labels[code] for code in kept)
        return replace(self, rows=self.rows[here], targets=targets[here], labels=labels)
