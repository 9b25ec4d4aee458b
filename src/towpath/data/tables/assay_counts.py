"""How much the sets of assays hold: what their files should have, and what is found in one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from towpath.data.tables.columns import NumberColumn
from towpath.data.tables.reading import read_table

SMILES = "smiles"
"""the column of the molecules; the others are assays"""
CHECKSUMS = {
    "toxcast": "sha256:56041515e0bb63c1787a26ecdbeb2bd7ae1f538681caa1b03f768853cf81b1a7",
    "chembl": "sha256:84724fc5967c7e4a750d458bf9937b8bd0a9171f5b0b6b1551b7d70487b4295b",
}
"""of the files that the counts were taken from"""


@dataclass(frozen=True)
class AssayCounts:
    """How much a set of assays holds, as read, before anything is left out."""

    compounds: int
    assays: int
    labels: int
    filled: int = field(default=0)  # assays with at least one label

    def __str__(self) -> str:
        return f"{self.compounds:,} compounds, {self.assays:,} assays, {self.labels:,} labels"


COUNTS: Mapping[str, AssayCounts] = {
    "toxcast": AssayCounts(8_615, 617, 1_538_395, 617),
    "chembl": AssayCounts(23_871, 691, 91_047, 610),
}


def counted(path: Path) -> AssayCounts:
    """Count the rows, task columns and cells with a number of a table of assays."""
    table = read_table(path, frozenset((SMILES, "task")))
    columns = [c for n, c in table.columns.items() if n != SMILES and isinstance(c, NumberColumn)]
    labels = [int(np.count_nonzero(~column.missing)) for column in columns]
    return AssayCounts(len(table), len(columns), sum(labels), sum(1 for n in labels if n))
