"""Groups of tasks: families of assays, sites of a plant. By a column, a prefix or a mapping."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from towpath.data.errors import DataError
from towpath.data.tables.columns import Table, listed
from towpath.data.tables.layouts import Layout, Wide
from towpath.data.tables.side_files import pairs_of_file, text_of
from towpath.data.tables.units import Unit, named
from towpath.wording import nearest, quoted


class Groups(Protocol):
    """How the group of a unit is found."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that hold groups, which are no features."""

    def grouped(self, units: Sequence[Unit], table: Table, layout: Layout) -> list[Unit]:
        """Return the units with their groups."""


@dataclass(frozen=True)
class NoGroups:
    """All units are in one group."""

    columns: tuple[str, ...] = ()

    def grouped(self, units: Sequence[Unit], table: Table, layout: Layout) -> list[Unit]:
        """Return the units as they are."""
        del table, layout
        return list(units)


@dataclass(frozen=True)
class ByPrefix:
    """The group is the name up to a separator: `NVS` of `NVS_ENZ_hBACE`."""

    separator: str
    columns: tuple[str, ...] = ()

    def grouped(self, units: Sequence[Unit], table: Table, layout: Layout) -> list[Unit]:
        """Return the units with the first part of their names as groups."""
        if not any(self.separator in unit.name for unit in units):
            raise DataError(
                f"groups.prefix is {quoted(self.separator)}, and none of the {layout.units_are} of "
                f"{table.name} has it in its name (first {quoted(units[0].name)}); expected the "
                "sign after the group's name. Correct it."
            )
        return [replace(unit, group=unit.name.split(self.separator, 1)[0]) for unit in units]


@dataclass(frozen=True)
class ByColumn:
    """The group is the value of a column, the same in all rows of a unit."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of the groups."""
        return (self.column,)

    def grouped(self, units: Sequence[Unit], table: Table, layout: Layout) -> list[Unit]:
        """Return the units with the value that the column has in their rows."""
        if isinstance(layout, Wide):
            raise DataError(
                f"groups.column is {quoted(self.column)}, and the tasks of {table.name} are "
                "columns, so that a row has no task; expected groups by prefix or by mapping. Give "
                "groups: {mapping: {TASK: GROUP}}."
            )
        texts = table.column(self.column, "groups.column").texts
        found = []
        for unit in units:
            groups = {texts[row] for row in unit.rows.tolist()}
            if len(groups) > 1 or "" in groups:
                shown = ", ".join(quoted(group) for group in sorted(groups)[:3])
                raise DataError(
                    f"{table.name} has the groups {shown} in column {quoted(self.column)} for "
                    f"{quoted(unit.name)}; expected one group for each of the {layout.units_are}. "
                    "Correct the rows, or use another column."
                )
            found.append(replace(unit, group=groups.pop()) if groups else unit)
        return found


@dataclass(frozen=True)
class ByMapping:
    """The group is looked up by the unit's name."""

    group_of: Mapping[str, str]
    columns: tuple[str, ...] = ()

    def grouped(self, units: Sequence[Unit], table: Table, layout: Layout) -> list[Unit]:
        """Return the units with their groups; every unit must be in the mapping."""
        names = [unit.name for unit in units]
        unknown = [name for name in self.group_of if name not in set(names)]
        if unknown:
            raise DataError(
                f"groups.mapping names {named(unknown)}, which {table.name} does not have; "
                f"expected {layout.units_are} of the table: {listed(names)}."
                f"{nearest(unknown[0], names)} Correct the mapping."
            )
        lacking = [name for name in names if name not in self.group_of]
        if lacking:
            raise DataError(
                f"groups.mapping has no group for {len(lacking):,} of the {len(names):,} "
                f"{layout.units_are} of {table.name}: {named(lacking)}; expected one for each. Add "
                "them."
            )
        return [replace(unit, group=self.group_of[unit.name]) for unit in units]


def groups_from(option: Mapping[str, Any] | None, folder: Path) -> Groups:
    """Return the object for the option `groups`.

    Args:
        option: a mapping with one of the keys column, prefix and mapping, or None.
        folder: where relative paths of files begin.
    """
    if option is None:
        return NoGroups()
    known = ("column", "prefix", "mapping")
    if not isinstance(option, Mapping) or len(option) != 1 or next(iter(option)) not in known:
        word = next(iter(option), "") if isinstance(option, Mapping) else option
        raise DataError(
            f"groups is {quoted(option)}; expected one of {{column: NAME}}, {{prefix: SIGN}} and "
            f"{{mapping: FILE or {{TASK: GROUP}}}}.{nearest(word, known)} Correct it."
        )
    key, value = next(iter(option.items()))
    if key == "mapping":
        if isinstance(value, Mapping):
            return ByMapping({str(task): str(group) for task, group in value.items()})
        return ByMapping(pairs_of_file(text_of(value, "groups.mapping"), folder, "group"))
    text = text_of(value, f"groups.{key}")
    return ByColumn(text) if key == "column" else ByPrefix(text)
