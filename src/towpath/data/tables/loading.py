"""Load a split of a table of your own: from the options of a recipe to a pool of tasks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from towpath.data.errors import DataError
from towpath.data.tables.feature_option import features_from
from towpath.data.tables.grouping import groups_from
from towpath.data.tables.layout_choice import LayoutChoice, LayoutName
from towpath.data.tables.pool import TablePool
from towpath.data.tables.prepared import TABLE_SPLITS, TableOptions, prepare_table
from towpath.data.tables.splitting import splits_from
from towpath.data.tables.units import Kind
from towpath.files import expanded
from towpath.wording import nearest, quoted


# Twelve parameters because each is an option that a recipe's section `data` sets by its name.
def load_table(
    path: str | Path,
    split: str = "train",
    *,
    layout: LayoutName = "auto",
    features: str | dict[str, Any] | list[str | dict[str, Any]] | None = None,
    tasks: list[str] | None = None,
    task: str | None = None,
    target: str | None = None,
    groups: dict[str, Any] | None = None,
    splits: dict[str, Any] | None = None,
    kind: Kind = "auto",
    id: str | None = None,  # noqa: A002 (the name that a recipe has)
    name: str | None = None,
) -> TablePool:
    """Load the pool of a split of your own table.

    Args:
        path: the file: CSV (gzipped or not), Parquet or NPZ.
        split: `train`, `validation`, `test`, `trusted` (if `splits` lists some), or `all`.
        layout: `wide` (a column a task), `long` (a task column and a target column), `labels` (a
            target column only), or `auto`.
        features: columns, a feature file, a mapping with `kind`, or a list of these; by default
            the columns of numbers that are nothing else.
        tasks: the task columns of a wide table.
        task: the column with the names of tasks of a long table.
        target: the column of the targets.
        groups: `{column: NAME}`, `{prefix: "_"}` or `{mapping: FILE or {TASK: GROUP}}`.
        splits: `{by: task | group, seed: 0}`, lists of names for `validation`, `test`, `trusted`,
            or `{file: NAME}`.
        kind: `classification`, `regression`, or `auto`.
        id: the column that names the rows.
        name: what to call the table; by default, the name of the file.
    """
    check_table_split(split)
    place = expanded(path)
    folder = place.parent
    _one_of("layout", layout, ("auto", "wide", "long", "labels"))
    _one_of("kind", kind, ("auto", "classification", "regression"))
    if tasks is not None and (isinstance(tasks, str) or not tasks):
        raise DataError(
            f"data.tasks is {quoted(tasks)}; expected a list of columns in brackets. Correct it."
        )
    options = TableOptions(
        LayoutChoice(layout, tuple(tasks or ()), task or "", target or ""),
        features_from(features),
        groups_from(groups, folder),
        splits_from(splits, folder),
        kind,
        id or "",
    )
    return prepare_table(place, options, name or place.name.split(".")[0]).pool(split)


def check_table_split(split: str) -> None:
    """Raise a `DataError` unless the split is one that a table may have."""
    _one_of("split", split, TABLE_SPLITS)


def _one_of(name: str, value: object, known: Sequence[str]) -> None:
    if value not in known:
        raise DataError(
            f"data.{name} is {quoted(value)}; expected one of {', '.join(known)}."
            f"{nearest(value, known)} Correct it."
        )
