"""What all splits of a table share: the table as read, with its tasks, groups and features found.

A split then takes its tasks, and the scaling of the training tasks, whatever the split.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from towpath.data.errors import DataError
from towpath.data.pool import SPLITS
from towpath.data.tables.cautions import cautions
from towpath.data.tables.columns import Table
from towpath.data.tables.comma_separated import DELIMITERS
from towpath.data.tables.feature_option import FeatureChoice
from towpath.data.tables.features import Features
from towpath.data.tables.grouping import Groups, NoGroups
from towpath.data.tables.layout_choice import LayoutChoice
from towpath.data.tables.layouts import Layout
from towpath.data.tables.pool import TablePool
from towpath.data.tables.reading import read_table
from towpath.data.tables.scaling import Scaling
from towpath.data.tables.splitting import TRUSTED, Splits
from towpath.data.tables.table_task import TableTask
from towpath.data.tables.units import Kind, Unit, decided_kind, kept, named
from towpath.wording import amount, quoted

ALL = "all"
TABLE_SPLITS = (*SPLITS, TRUSTED, ALL)


class Division(Protocol):
    """How units are divided into splits: `Splits`, or the rule of a set with a name."""

    def of(
        self, units: Sequence[Unit], every_name: Sequence[str], what: str
    ) -> tuple[dict[str, str], list[str]]:
        """Return the split of each unit by its name, and notes; a unit may be in none."""


@dataclass(frozen=True)
class TableOptions:
    """How a table is read."""

    layout: LayoutChoice = field(default_factory=LayoutChoice)
    features: FeatureChoice = field(default_factory=FeatureChoice)
    groups: Groups = field(default_factory=NoGroups)
    splits: Division = field(default_factory=Splits)
    kind: Kind = "auto"
    id: str = ""

    @property
    def text_columns(self) -> frozenset[str]:
        """Columns that are read as text: ids and names keep their leading zeros."""
        names = (self.id, self.layout.task, *self.groups.columns, *self.features.text_columns)
        return frozenset(("task", *(name for name in names if name)))


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table with everything that its splits share."""

    name: str
    table: Table
    layout: Layout
    units: tuple[Unit, ...]
    split_of: Mapping[str, str]
    regression: bool
    features: Features
    row_names: tuple[str, ...]
    notes: tuple[str, ...]
    computed_features: tuple[Mapping[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    """the notes on tasks or classes that cannot be used"""
    cautions: tuple[str, ...] = ()

    def tasks(self, split: str) -> tuple[TableTask, ...]:
        """Return the tasks of a split, or of all."""
        units = [u for u in self.units if split in (ALL, self.split_of.get(u.name))]
        return self.layout.tasks(units, self.regression)

    def pool(self, split: str) -> TablePool:
        """Return the pool of a split.

        Args:
            split: train, validation, test, trusted or all.
        """
        tasks, training = self.tasks(split), self.tasks("train")
        if not training:
            raise DataError(
                f"{self.name} has no tasks to train on; expected some, since features are "
                "standardised by them. Leave some out of splits.validation and splits.test."
            )
        if not tasks:
            raise self._no_split(split)
        return TablePool(
            self.name,
            split,
            self.features.values,
            tasks,
            scaling=self._scaling(training),
            row_names=self.row_names,
            feature_names=self.features.names,
            notes=self.notes,
            content=self._content(tasks, training),
            target_scaling=_target_scaling(training) if self.regression else None,
            classes_are_drawn=self.layout.name == "labels",
            splits=tuple(s for s in TABLE_SPLITS[:-1] if s in self.split_of.values()),
            computed_features=self.computed_features,
            cautions=self.cautions,
        )

    def _no_split(self, split: str) -> DataError:
        """Return the error to raise for a split without tasks, with what may be the cause of it."""
        present = [s for s in TABLE_SPLITS[:-1] if self.tasks(s)]
        count, what = len(self.units), self.layout.units_are
        causes = list(self.left_out)
        if count < len(SPLITS):
            causes.append(f"{count} {what} are too few for {', '.join(SPLITS)}")
        why = f" ({'; '.join(causes)})" if causes else ""
        return DataError(
            f"{self.name} as found has no split {split!r}; it has {', '.join(present)}{why}. Name "
            f"more {what}, choose a split that it has, or say with data.splits which {what} belong "
            "to it."
        )

    def _scaling(self, training: Sequence[TableTask]) -> Scaling:
        chosen = self.features.standardised
        mean = np.zeros(len(chosen), np.float32)
        scale = np.ones(len(chosen), np.float32)
        if chosen.any():
            rows = np.unique(np.concatenate([task.rows for task in training]))
            found = Scaling.of(self.features.values[rows][:, chosen])
            mean[chosen], scale[chosen] = found.mean, found.scale
        return Scaling(mean, scale)

    def _content(self, tasks: Sequence[TableTask], training: Sequence[TableTask]) -> str:
        """Digest of the features, of the tasks, and of the training tasks, which standardise."""
        digest = hashlib.sha256(self.features.content.encode())
        for task in (*tasks, *training):
            digest.update(repr((task.name, task.group, task.labels, len(task))).encode())
            digest.update(task.rows.tobytes() + task.targets.tobytes())
        return digest.hexdigest()


def _target_scaling(training: Sequence[TableTask]) -> Scaling:
    targets = np.concatenate([task.targets for task in training])
    return Scaling.of(targets[:, None])


def prepare_table(path: Path, options: TableOptions, name: str) -> Prepared:
    """Read a table and do what all its splits share.

    Args:
        path: the file.
        options: how it is read.
        name: what to call the table in messages and results.
    """
    table = read_table(path, options.text_columns)
    _check_columns(table, options.features)
    for group in options.groups.columns:
        table.column(group, "groups.column")
    ids = table.column(options.id, "data.id").texts if options.id else ()
    others = frozenset((options.id, *options.groups.columns))
    layout = options.layout.chosen(
        table, others | options.features.columns(table), options.features.names_columns
    )
    besides = frozenset((*others, *layout.columns))
    found = layout.units(table)
    _refuse_numbers_without_tasks(options.kind, layout, table.name)
    regression, kind_note = decided_kind(options.kind, found, table.name)
    features = options.features.features(table, besides, ids, path.parent)
    usable = [unit.within(features.usable) for unit in found]
    good, left_out = kept(usable, lambda u: layout.too_small(u, regression), layout.units_are)
    if len(good) < 2:
        raise _too_few(table.name, layout, len(found), len(good), left_out)
    units = options.groups.grouped(good, table, layout)
    split_of, split_notes = options.splits.of(
        units, [unit.name for unit in found], layout.units_are
    )
    groups = len({unit.group for unit in units})
    count = f"{len(units):,} {layout.units_are}{f' in {groups:,} groups' if groups > 1 else ''}"
    unnamed = () if options.features.names_columns else features.names
    careful = cautions(table, layout, options.id, unnamed)
    notes = (
        *table.notes,
        f"layout: {layout.name}, {count}",
        kind_note,
        *left_out,
        *split_notes,
        *features.notes,
        *_unused(table, besides, options.features),
        *careful,
    )
    row_names = tuple(ids) or tuple(table.place(row) for row in range(len(table)))
    return Prepared(
        name,
        table,
        layout,
        tuple(units),
        split_of,
        regression,
        features,
        row_names,
        notes,
        options.features.computed,
        tuple(left_out),
        careful,
    )


def _check_columns(table: Table, features: FeatureChoice) -> None:
    """Raise a `DataError` for one column only, unless the features are in a file beside it."""
    elsewhere = features.names_columns and not features.columns(table)
    if len(table.columns) > 1 or elsewhere:
        return
    raise DataError(
        f"{table.name} has one column, {quoted(next(iter(table.columns)))}; expected features and "
        f"targets, in columns separated by {', '.join(DELIMITERS.values())}. Save it with one of "
        "these, and with the names of the columns in the first line."
    )


def _refuse_numbers_without_tasks(kind: Kind, layout: Layout, name: str) -> None:
    if kind == "regression" and layout.units_are == "classes":
        raise DataError(
            f"{name} has a target column and no tasks, and kind is regression; expected classes "
            "there. Name the task column with data.task."
        )


def _unused(table: Table, besides: frozenset[str], features: FeatureChoice) -> list[str]:
    """A note on columns that are neither named as features nor anything else."""
    if not features.names_columns:
        return []  # all columns of numbers are features, and a note names those of text
    rest = [name for name in table.columns if name not in besides | features.columns(table)]
    return [f"not used: {amount(len(rest), 'column')}: {named(rest)}"] if rest else []


def _too_few(
    name: str, layout: Layout, found: int, good: int, left_out: Sequence[str]
) -> DataError:
    why = f" ({'; '.join(left_out)})" if left_out else ""
    return DataError(
        f"{name} has {found:,} {layout.units_are}, of which {good} can be used{why}; expected "
        f"several, to train on some and test on others. Name more {layout.units_are}, or measure "
        "more rows."
    )
