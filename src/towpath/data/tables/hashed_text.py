"""Text as numbers without a download: character n-grams, hashed, of length 1.

Every run of two to four characters adds one to one of `features` places, or subtracts one: which,
is decided by a CRC of its UTF-8 bytes, the same on every machine. Texts that share parts of words
lie close together, misspelt ones too. A row is divided by its length, so it needs no standardising.
"""

import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from towpath.data.tables.columns import Table
from towpath.data.tables.computed import Computation, computed_part
from towpath.data.tables.feature_checks import check_number, check_word
from towpath.data.tables.features import Part

_VERSION = 1  # raise it when the same options give other numbers
_SHORTEST, _LONGEST = 2, 4


@dataclass(frozen=True)
class HashedTextFeatures:
    """Hashed character n-grams of a column of text; a row without text is left out."""

    column: str
    features: int = 2048

    def __post_init__(self) -> None:
        check_word("hashed-text", "column", self.column)
        check_number("hashed-text", "features", self.features, 8, 2**20)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of text."""
        return (self.column,)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The column of text, also where it holds numbers."""
        return (self.column,)

    def part(self, table: Table, ids: Sequence[str], folder: Path) -> Part:
        """Return the hashed n-grams of all rows."""
        del ids, folder
        table.column(self.column, "features.column")

        def fill(text: str, row: NDArray[np.float32]) -> bool:
            """Write the features of a text; return whether it has any."""
            return hash_text(text, row)

        recipe = f"hashed-text {_VERSION} {self.features} {_SHORTEST} {_LONGEST}"
        computation = Computation("hashed-text", recipe, self.features, fill, "is empty")
        return computed_part(table, self.column, computation)


def hash_text(text: str, row: NDArray[np.float32]) -> bool:
    """Write the features of a text into a row `[D]`; return whether the text has any.

    Case, accents' composition and the number of blanks make no difference.

    Args:
        text: any text.
        row: what is written to, with one place a feature.
    """
    plain = f" {' '.join(unicodedata.normalize('NFC', text).casefold().split())} "
    places: list[int] = []
    signs: list[float] = []
    for size in range(_SHORTEST, _LONGEST + 1):
        for start in range(len(plain) - size + 1):
            code = zlib.crc32(plain[start : start + size].encode("utf-8", "surrogateescape"))
            places.append((code & 0x7FFFFFFF) % len(row))
            signs.append(1.0 if code & 0x80000000 else -1.0)
    counts = np.bincount(places, weights=signs, minlength=len(row))
    length = float(np.linalg.norm(counts))
    if not plain.strip() or not length:
        return False
    row[:] = counts / length
    return True
