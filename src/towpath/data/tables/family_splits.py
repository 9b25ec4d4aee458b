"""Splits of a table of assays by family: one is tested on, and some of its assays are trusted."""

from collections.abc import Sequence
from dataclasses import dataclass

from towpath.data.dealing import in_order
from towpath.data.errors import DataError
from towpath.data.tables.splitting import TRUSTED, counted_splits
from towpath.data.tables.units import Unit, coded
from towpath.wording import nearest, quoted

TRUSTED_ROWS = 24
"""rows of each class of a trusted assay: 8 for the support and 16 for the query, as in the study"""


@dataclass(frozen=True)
class FamilySplits:
    """All families but one are for training; of that one, some assays are trusted, others test.

    A share of the other families' assays is kept for validation. The trusted assays come first in
    the order of a digest of their names, among those with enough rows of both classes.
    """

    family: str
    validation: float
    trusted: int

    def of(
        self, units: Sequence[Unit], every_name: Sequence[str], what: str
    ) -> tuple[dict[str, str], list[str]]:
        """Return the split of each assay, and notes.

        Args:
            units: the assays that can be used.
            every_name: not needed: nothing is named but the family.
            what: what a unit is called, in the plural.
        """
        del every_name
        families = sorted({unit.group for unit in units})
        own = {unit.name: unit for unit in units if unit.group == self.family}
        if not own:
            raise DataError(
                f"data.family is {quoted(self.family)}; expected one of {', '.join(families)}."
                f"{nearest(self.family, families)} Correct it."
            )
        large = [name for name, unit in own.items() if self._can_be_trusted(unit)]
        trusted = in_order(large)[: self.trusted]
        if len(trusted) < self.trusted or len(trusted) == len(own):
            raise DataError(
                f"The family {self.family} has {len(own)} assays, {len(large)} of them with "
                f"{TRUSTED_ROWS} rows of each class; expected {self.trusted} of these to trust and "
                "others to test on. Choose another data.family, or fewer with data.trusted."
            )
        others = in_order(unit.name for unit in units if unit.name not in own)
        held_out = set(others[: round(self.validation * len(others))])
        split_of = {name: "validation" if name in held_out else "train" for name in others}
        split_of |= {name: TRUSTED if name in trusted else "test" for name in own}
        note = f"{what} a split: {counted_splits(split_of)} (tested on the family {self.family})"
        return split_of, [note]

    @staticmethod
    def _can_be_trusted(unit: Unit) -> bool:
        return coded(unit, regression=False).at_least(TRUSTED_ROWS) is not None
