"""Morgan fingerprints of molecules, by RDKit, which is the extra `chem`.

A fingerprint counts the fragments around each atom, hashed to `bits` numbers. Counts are stored as
log(1 + count): a ring or chain has twenty of a common fragment, which would drown the one that
matters. They are not standardised: a fragment of one molecule in 8,615 would become a value of 93.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.data.tables.columns import Table
from towpath.data.tables.computed import Computation, computed_part
from towpath.data.tables.feature_checks import check_number, check_word, option_error
from towpath.data.tables.features import Part

_VERSION = 1  # raise it when the same options give other numbers


@dataclass(frozen=True)
class MorganFeatures:
    """Fingerprints of a column of SMILES; a row without a valid molecule is left out."""

    column: str
    bits: int = 1024
    radius: int = 2
    counts: bool = True
    """whether to count a fragment (as log(1 + count)) or only say that it is there"""

    def __post_init__(self) -> None:
        check_word("morgan", "column", self.column)
        check_number("morgan", "bits", self.bits, 8, 65_536)
        check_number("morgan", "radius", self.radius, 0, 8)
        if not isinstance(self.counts, bool):
            raise option_error("morgan", "counts", self.counts, "true or false")

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of SMILES."""
        return (self.column,)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The column of SMILES: `1` is text too."""
        return (self.column,)

    def part(self, table: Table, ids: Sequence[str], folder: Path) -> Part:
        """Return the fingerprints of all rows."""
        del ids, folder
        table.column(self.column, "features.column")
        try:
            import rdkit
            from rdkit import Chem, rdBase
            from rdkit.Chem import rdFingerprintGenerator
        except ImportError as error:
            raise DataError(
                "Features of kind morgan need RDKit, which is not installed; expected the extra. "
                "Run: pip install 'towpath[chem]'"
            ) from error
        generator = rdFingerprintGenerator.GetMorganGenerator(radius=self.radius, fpSize=self.bits)

        def fill(smiles: str, row: NDArray[np.float32]) -> bool:
            """Write the fingerprint of a molecule; return whether it is one."""
            with rdBase.BlockLogs():  # it would print what is wrong with each to stderr
                molecule = Chem.MolFromSmiles(smiles)
            if molecule is None or not molecule.GetNumAtoms():
                return False
            if self.counts:
                np.log1p(generator.GetCountFingerprintAsNumPy(molecule), out=row, casting="unsafe")
            else:
                row[:] = generator.GetFingerprintAsNumPy(molecule)
            return True

        recipe = (
            f"morgan {_VERSION} {self.bits} {self.radius} {self.counts} rdkit {rdkit.__version__}"
        )
        return computed_part(
            table, self.column, Computation("morgan", recipe, self.bits, fill, "is no molecule")
        )
