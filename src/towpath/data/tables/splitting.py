"""The split of every task (or class, in a table of labels): dealt, listed, or read from a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from towpath.data.dealing import deal
from towpath.data.errors import DataError
from towpath.data.own_folder import SPLIT_NAMES
from towpath.data.pool import SPLITS
from towpath.data.tables.columns import listed
from towpath.data.tables.side_files import pairs_of_file, text_of
from towpath.data.tables.units import Unit, named
from towpath.wording import nearest, quoted

TRUSTED = "trusted"
LISTED_SPLITS = (*SPLITS, TRUSTED)
_KEYS = ("by", "seed", "file", *LISTED_SPLITS)
_BY = ("task", "group", "file")


@dataclass(frozen=True)
class Splits:
    """How units are divided.

    `by` is what is kept together: a task (a class, in a table of labels) or a whole group; empty
    for groups from three of them on, else tasks. With `listed`, units or groups that are in no list
    are for training, or left out if there is a list for training too.
    """

    by: str = ""
    seed: int = 0
    listed: Mapping[str, str] = field(default_factory=dict)  # unit or group -> split
    complete: bool = False  # whether what is not listed is left out
    from_file: str = ""

    def of(
        self, units: Sequence[Unit], every_name: Sequence[str], what: str
    ) -> tuple[dict[str, str], list[str]]:
        """Return the split of each unit by its name, and notes.

        Args:
            units: the units that can be used.
            every_name: the names of all units, also of those that are too small.
            what: what a unit is called, in the plural.
        """
        groups = {unit.group for unit in units}
        by_group = self.by == "group" or (not self.by and len(groups) >= len(SPLITS))
        if self.listed and not self.by:
            by_group = not set(self.listed) & set(every_name) and bool(set(self.listed) & groups)
        key_of = {unit.name: unit.group if by_group else unit.name for unit in units}
        if self.listed:
            return self._listed(key_of, groups if by_group else set(every_name), what, by_group)
        dealt = deal(set(key_of.values()), self.seed)
        how = f"whole groups, dealt by a digest of their names, seed {self.seed}"
        if not by_group:
            how = f"dealt by a digest of the names, seed {self.seed}"
        split_of = {name: dealt[key] for name, key in key_of.items()}
        return split_of, [f"{what} a split: {counted_splits(split_of)} ({how})"]

    def _listed(
        self, key_of: Mapping[str, str], known: set[str], what: str, by_group: bool
    ) -> tuple[dict[str, str], list[str]]:
        kind = "groups" if by_group else what
        unknown = [name for name in self.listed if name not in known]
        if unknown:
            raise DataError(
                f"splits names {named(unknown)}, which the table does not have; expected "
                f"{kind} of it: {listed(sorted(known))}.{nearest(unknown[0], known)} Correct it."
            )
        rest = None if self.complete else "train"
        found = {name: self.listed.get(key, rest) for name, key in key_of.items()}
        split_of = {name: split for name, split in found.items() if split is not None}
        lacking = [name for name in key_of if name not in split_of]
        if lacking and self.from_file:
            raise DataError(
                f"{self.from_file} has no split for {len(lacking):,} of the {len(key_of):,} "
                f"{what}: {named(lacking)}; expected one for each. Add them."
            )
        where = f"from {self.from_file}" if self.from_file else "as listed"
        notes = [f"{what} a split: {counted_splits(split_of)} ({where})"]
        if lacking:
            notes.append(f"left out {len(lacking):,} {what} in no split: {named(lacking)}")
        return split_of, notes


def counted_splits(split_of: Mapping[str, str]) -> str:
    """Return how many units each split has, as text, from the split of each unit."""
    found = list(split_of.values())
    return ", ".join(f"{s} {found.count(s):,}" for s in LISTED_SPLITS if s in found)


def splits_from(option: Mapping[str, Any] | None, folder: Path) -> Splits:
    """Return the object for the option `splits`.

    Args:
        option: a mapping with some of by, seed, file, train, validation, test, trusted; or None.
        folder: where relative paths of files begin.
    """
    if option is None:
        return Splits()
    if not isinstance(option, Mapping):
        raise DataError(
            f"splits is {quoted(option)}; expected a mapping such as {{by: group}}. Correct it."
        )
    for key in option:
        if key not in _KEYS:
            raise DataError(
                f"splits has no option {quoted(key)}; expected {', '.join(_KEYS)}."
                f"{nearest(key, _KEYS)} Correct it."
            )
    by, seed = option.get("by", ""), option.get("seed", 0)
    by = "task" if by == "class" else by
    if by and by not in _BY:
        raise DataError(
            f"splits.by is {quoted(by)}; expected {', '.join(_BY)}.{nearest(by, _BY)} Correct it."
        )
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise DataError(f"splits.seed is {quoted(seed)}; expected a whole number. Correct it.")
    lists = {split: option[split] for split in LISTED_SPLITS if split in option}
    if (by == "file" or "file" in option) and (lists or "file" not in option):
        raise DataError(
            "splits is by a file and also has lists, or names no file; expected {by: file, file: "
            "NAME} alone. Remove what does not apply."
        )
    if "file" in option:
        return _from_file(text_of(option["file"], "splits.file"), folder)
    return Splits(by, seed, _joined(lists), complete="train" in lists)


def _joined(lists: Mapping[str, object]) -> dict[str, str]:
    split_of: dict[str, str] = {}
    for split, names in lists.items():
        if not isinstance(names, Sequence) or isinstance(names, str):
            raise DataError(
                f"splits.{split} is {quoted(names)}; expected a list of names in brackets. Correct "
                "it."
            )
        for name in map(str, names):
            if split_of.setdefault(name, split) != split:
                raise DataError(
                    f"splits has {quoted(name)} in {split_of[name]} and in {split}; expected each "
                    "in one split, for an evaluation on new tasks. Remove it from one."
                )
    return split_of


def _from_file(name: str, folder: Path) -> Splits:
    pairs = pairs_of_file(name, folder, "split")
    listed_splits: dict[str, str] = {}
    for task, word in pairs.items():
        split = SPLIT_NAMES.get(word.lower(), word.lower())
        if split not in LISTED_SPLITS:
            raise DataError(
                f"{name} gives {quoted(task)} the split {quoted(word)}; expected "
                f"{', '.join(LISTED_SPLITS)}.{nearest(word, LISTED_SPLITS)} Correct it."
            )
        listed_splits[task] = split
    return Splits("", 0, listed_splits, complete=True, from_file=name)
