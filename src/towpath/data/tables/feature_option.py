"""The option `features` of a table: from what a recipe says to the features of all rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towpath.data.errors import DataError
from towpath.data.tables.columns import Table
from towpath.data.tables.feature_checks import made
from towpath.data.tables.feature_columns import FileFeatures, NumberFeatures, default_columns
from towpath.data.tables.features import FeatureKind, Features, FeaturesOption, joined
from towpath.data.tables.hashed_text import HashedTextFeatures
from towpath.data.tables.molecules import MorganFeatures
from towpath.data.tables.reading import is_table_name
from towpath.wording import quoted

FEATURE_KINDS: dict[str, type[FeatureKind]] = {
    "columns": NumberFeatures,
    "file": FileFeatures,
    "morgan": MorganFeatures,
    "hashed-text": HashedTextFeatures,
}


@dataclass(frozen=True)
class FeatureChoice:
    """The kinds of features that were asked for; none for the columns of numbers left over."""

    kinds: tuple[FeatureKind, ...] = ()

    @property
    def names_columns(self) -> bool:
        """Whether the user said where the features are, so that other columns may be tasks."""
        return bool(self.kinds)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns that are read as text."""
        return tuple(name for kind in self.kinds for name in kind.text_columns)

    @property
    def computed(self) -> tuple[Mapping[str, Any], ...]:
        """The kinds that are computed of text, as a recipe names them: `features_from` reads it."""
        names = {make: name for name, make in FEATURE_KINDS.items()}
        return tuple(
            {"kind": names[type(kind)], **vars(kind)} for kind in self.kinds if kind.text_columns
        )

    def columns(self, table: Table) -> frozenset[str]:
        """Return the columns of the table that are features, and hence no tasks."""
        names = [name for kind in self.kinds for name in kind.columns]
        return frozenset(part for name in names for part in table.arrays.get(name, (name,)))

    def features(
        self, table: Table, besides: frozenset[str], ids: Sequence[str], folder: Path
    ) -> Features:
        """Return the features of all rows.

        Args:
            table: the table.
            besides: columns that are tasks, targets, ids or groups.
            ids: the id of each row, or nothing if the table has no id column.
            folder: the table's folder, where relative paths begin.
        """
        both = sorted(self.columns(table) & besides)
        if both:
            raise DataError(
                f"data.features has {quoted(both[0])}, which is a task, a target, an id or a group "
                "as well; expected a column to be one of them. Remove it from one."
            )
        if self.kinds:
            return joined([kind.part(table, ids, folder) for kind in self.kinds], table)
        names, notes = default_columns(table, besides)
        found = joined([NumberFeatures(names).part(table, ids, folder)], table)
        return Features(
            found.values,
            found.names,
            found.standardised,
            found.usable,
            (*notes, *found.notes),
            found.content,
        )


def features_from(option: FeaturesOption) -> FeatureChoice:
    """Return the object for the option `features`.

    Args:
        option: the name of a column, the path of a file, a mapping with `kind`, a list of such, or
            None for the columns of numbers that are nothing else.
    """
    if option is None:
        return FeatureChoice()
    given = [option] if isinstance(option, str | Mapping) else option
    if not isinstance(given, Sequence) or not given:
        raise DataError(
            f"features is {quoted(option)}; expected names of columns, the path of a feature file, "
            "or a mapping such as {kind: morgan, column: smiles}. Correct it."
        )
    kinds: list[FeatureKind] = []
    columns: list[str] = []
    for each in given:
        if isinstance(each, Mapping):
            kinds.append(made(FEATURE_KINDS, each))
        elif isinstance(each, str) and is_table_name(each):
            kinds.append(FileFeatures(each))
        elif isinstance(each, str):
            columns.append(each)
        else:
            raise DataError(
                f"features has {quoted(each)}; expected names of columns or mappings with a kind. "
                "Correct it."
            )
    if columns:
        kinds.insert(0, NumberFeatures(columns))
    return FeatureChoice(tuple(kinds))
