"""A table pool: the tasks of one split of a table, with the features of its rows.

It is for tables what `ClassPool` is for images. A task is a column (an assay), or the rows of one
customer or sensor; an episode draws rows of one task. Shapes: `features [N, D]` float32, one row
for each row of the table, as read, normally a read-only memory map that all splits share. `NaN`
marks a value that is missing. `Scaling` standardises the rows and fills in what is missing when an
episode is made, so the array itself depends on no split.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.data.tables.scaling import Scaling
from towpath.data.tables.table_task import TableTask
from towpath.wording import amount, nearest, quoted


@dataclass(frozen=True, eq=False)
class TablePool:
    """The tasks of one split, with the features of their rows.

    `target_scaling` (regression only) is the mean and spread `[1]` of the targets of the training
    tasks. `classes_are_drawn` marks a table of labels, whose classes an episode draws like those of
    images: the code of a class then means nothing beyond the episode. `splits` are the splits that
    the table has. `computed_features` are the kinds of features that were computed of text, as a
    recipe names them; all other features are columns. `synthetic` marks a table that nobody
    measured. `cautions` are those of the notes that are told before training, too.
    """

    name: str
    split: str
    features: NDArray[np.float32] = field(repr=False)  # [N, D], as read; NaN is missing
    tasks: tuple[TableTask, ...] = field(repr=False)
    scaling: Scaling | None = field(default=None, repr=False)
    row_names: tuple[str, ...] = field(default=(), repr=False)  # [N] for people: an id or a line
    feature_names: tuple[str, ...] = field(default=(), repr=False)  # [D] for people
    notes: tuple[str, ...] = ()  # for the user: how the table was read
    content: str = ""  # digest of tasks, targets and features; empty for a pool made by hand
    synthetic: bool = False
    target_scaling: Scaling | None = field(default=None, repr=False)
    classes_are_drawn: bool = False
    splits: tuple[str, ...] = ()
    computed_features: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    cautions: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.tasks:
            raise DataError(
                f"The {self.split} split of {self.name} has no tasks; expected at least one. "
                "Check the table, or choose another split."
            )
        if self.features.dtype != np.float32 or self.features.ndim != 2:
            raise DataError(
                f"The features of {self.name} are {self.features.dtype} "
                f"{list(self.features.shape)}; expected float32 [N, D]. Convert them before making "
                "a TablePool."
            )
        if len({task.is_regression for task in self.tasks}) > 1:
            raise DataError(
                f"{self.name} ({self.split}) has tasks of classes and tasks of real numbers; "
                "expected one kind. Load them as two tables."
            )

    def __len__(self) -> int:
        return len(self.tasks)

    def __getstate__(self) -> dict[str, Any]:
        """Pickling for worker processes sends the path of a memory map, not its numbers."""
        state = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if isinstance(self.features, np.memmap) and self.features.filename is not None:
            state["features"] = str(self.features.filename)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state["features"], str):
            state["features"] = np.load(state["features"], mmap_mode="r", allow_pickle=False)
        self.__dict__.update(state)

    @property
    def names(self) -> list[str]:
        """The names of the tasks, which records of a run repeat."""
        return [task.name for task in self.tasks]

    @property
    def input_shape(self) -> tuple[int]:
        """The shape of one input of a network: (D,)."""
        return (int(self.features.shape[1]),)

    @property
    def is_regression(self) -> bool:
        """Whether the targets are real numbers, not classes."""
        return self.tasks[0].is_regression

    @property
    def target_count(self) -> int:
        """The number of targets (measurements) of all tasks together."""
        return sum(len(task) for task in self.tasks)

    @cached_property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """The positions in `tasks` of each group's tasks, by the group's name."""
        groups: dict[str, list[int]] = {}
        for position, task in enumerate(self.tasks):
            groups.setdefault(task.group, []).append(position)
        return {name: tuple(positions) for name, positions in groups.items()}

    @cached_property
    def _values(self) -> NDArray[np.float32]:
        """The same memory as a plain array: indexing a `memmap` object costs several times more."""
        return self.features.view(np.ndarray)

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return a copy of some rows, standardised and without missing values: `[len(rows), D]`."""
        taken = self._values[rows]
        return taken if self.scaling is None else self.scaling.apply(taken)

    def row_name(self, row: int) -> str:
        """Return what people call a row: its id, or its line in the table."""
        return self.row_names[row] if self.row_names else f"row {row}"

    def at_least(self, rows: int, classes: int = 2) -> "TablePool":
        """Return the pool without classes that have fewer rows, and tasks with too few classes.

        Args:
            rows: the number of rows that each class must have; in regression, each task.
            classes: the number of such classes that a task must have; regression has none.
        """
        kept = tuple(
            enough for task in self.tasks if (enough := task.at_least(rows, classes)) is not None
        )
        if not kept:
            raise DataError(
                f"No task of {self.name} ({self.split}) has {self._needed(rows, classes)}; the "
                f"largest, {quoted(self._largest.name)}, has {self._sizes(self._largest)}. Ask for "
                "fewer shots, query rows or ways."
            )
        return replace(self, tasks=kept)

    @property
    def _largest(self) -> TableTask:
        return max(self.tasks, key=len)

    def _needed(self, rows: int, classes: int) -> str:
        return f"{rows} rows" if self.is_regression else f"{classes} classes of {rows} rows"

    @staticmethod
    def _sizes(task: TableTask) -> str:
        if task.is_regression:
            return f"{len(task)}"
        counts = sorted(task.class_counts, reverse=True)
        shown = ", ".join(str(count) for count in counts[:4])
        more = f" and {len(counts) - 4} smaller" if len(counts) > 4 else ""
        return f"{len(counts)} classes of {shown}{more} rows"

    def only(self, groups: Iterable[str]) -> "TablePool":
        """Return the pool with the tasks of these groups only."""
        wanted = set(groups)
        for group in sorted(wanted - set(self.groups)):
            raise DataError(
                f"{self.name} ({self.split}) has no group {quoted(group)}; it has "
                f"{', '.join(sorted(self.groups))}.{nearest(group, self.groups)} "
                "Name groups of this list."
            )
        return replace(self, tasks=tuple(task for task in self.tasks if task.group in wanted))

    def scaled_as(self, train: "TablePool") -> "TablePool":
        """Return the pool standardised as another table's training tasks are.

        Args:
            train: the training tasks; their columns must be those of this table.
        """
        if self.feature_names != train.feature_names:
            pairs = zip(self.feature_names, train.feature_names, strict=False)
            found, expected = next(
                ((a, b) for a, b in pairs if a != b),
                (f"{len(self.feature_names)} columns", f"{len(train.feature_names)} columns"),
            )
            raise DataError(
                f"The features of {self.name} are not those of {train.name}: found "
                f"{quoted(found)}, expected {quoted(expected)}. Give both tables the same feature "
                "columns, in the same order."
            )
        if self.is_regression != train.is_regression:
            kinds = {True: "real numbers", False: "classes"}
            raise DataError(
                f"The targets of {self.name} are {kinds[self.is_regression]}; expected "
                f"{kinds[train.is_regression]}, as those of {train.name}. Choose another table, or "
                "set data.kind."
            )
        return replace(self, scaling=train.scaling, target_scaling=train.target_scaling)

    def counted(self) -> str:
        """Return how much the pool holds, in a few words."""
        what = "numbers" if self.is_regression else "labels"
        return f"{amount(len(self), 'task')}, {self.target_count:,} {what}"

    def describe(self) -> str:
        """Return one line for people: the table, its tasks, groups, rows, targets and features."""
        counts = [len(task) for task in self.tasks]
        low, high = min(counts), max(counts)
        each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        groups = f" in {len(self.groups)} groups" if len(self.groups) > 1 else ""
        synthetic = " (synthetic)" if self.synthetic else ""
        what = "numbers" if self.is_regression else "labels"
        targets = (
            f"{each} {what} each, {sum(counts):,} in all" if len(self) > 1 else f"{each} {what}"
        )
        return (
            f"{self.name}{synthetic}, {self.split}: {amount(len(self), 'task')}{groups}, "
            f"{targets}, on {amount(len(self.features), 'row')} with "
            f"{amount(self.features.shape[1], 'feature')}, "
            f"{'regression' if self.is_regression else self._ways()}"
        )

    def _ways(self) -> str:
        ways = sorted({len(task.labels) for task in self.tasks})
        return f"{ways[0]} classes" if len(ways) == 1 else f"{ways[0]} to {ways[-1]} classes"
