"""Real assays by name: ToxCast, by family of assays, and ChEMBL, by protein target.

Both are wide tables of molecules: a column `smiles` and one column an assay. ToxCast's are classes
(active or not), its families the prefixes of its columns; ChEMBL's are real numbers.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from towpath.data.data_set import DataSet
from towpath.data.download import matches
from towpath.data.locations import data_root
from towpath.data.lookup import missing
from towpath.data.pool import SPLITS
from towpath.data.set_report import Report
from towpath.data.tables.assay_counts import CHECKSUMS, COUNTS, SMILES, counted
from towpath.data.tables.family_splits import FamilySplits
from towpath.data.tables.feature_option import FeatureChoice
from towpath.data.tables.grouping import ByPrefix
from towpath.data.tables.loading import check_table_split
from towpath.data.tables.molecules import MorganFeatures
from towpath.data.tables.pool import TablePool
from towpath.data.tables.prepared import TableOptions, prepare_table
from towpath.data.tables.splitting import TRUSTED
from towpath.validation import Range

DEFAULT_FAMILY = "NVS"
FILES = {
    "toxcast": ("assays/toxcast.csv.gz", "toxcast.csv.gz", "assays/toxcast.csv", "toxcast.csv"),
    "chembl": ("assays/chembl_5thresh.csv.gz", "chembl_5thresh.csv.gz", "chembl_5thresh.csv"),
}
"""where each is looked for in the data folder"""
MANUAL = {
    "toxcast": "By hand: MoleculeNet (moleculenet.org) has it as toxcast_data.csv.gz; save it as "
    "assays/toxcast.csv.gz in the data folder.",
    "chembl": "By hand: DeepChem's data sets have it as chembl_5thresh.csv.gz; save it as "
    "assays/chembl_5thresh.csv.gz in the data folder.",
}

Bits = Annotated[int, Range(8, 65_536)]
Radius = Annotated[int, Range(0, 8)]


def find_assays(name: str, root: Path) -> Path | None:
    """Return the file of a set of assays in the data folder, or None if there is none.

    Args:
        name: toxcast or chembl.
        root: the data folder.
    """
    return next((root / file for file in FILES[name] if (root / file).is_file()), None)


def load_toxcast(
    root: str | Path | None = None,
    split: str = "train",
    *,
    family: str = DEFAULT_FAMILY,
    validation: Annotated[float, Range(0.0, 0.5)] = 0.1,
    trusted: Annotated[int, Range(0, 100)] = 5,
    bits: Bits = 1024,
    radius: Radius = 2,
) -> TablePool:
    """Load the pool of a split of ToxCast.

    Args:
        root: the data folder; by default the one of `data_root`.
        split: `train` (all other families), `validation` (a share of these), `test` (the family's
            assays without the trusted ones), `trusted` or `all`.
        family: the family of assays, a prefix of the columns, that is tested on.
        validation: the share of the other families' assays that is kept for validation.
        trusted: the number of assays of the family that are trusted.
        bits: the number of features of a molecule.
        radius: of the fragments that are counted.
    """
    check_table_split(split)
    options = TableOptions(
        features=FeatureChoice((MorganFeatures(SMILES, bits, radius),)),
        groups=ByPrefix("_"),
        splits=FamilySplits(family, validation, trusted),
        kind="classification",
    )
    return prepare_table(_source("toxcast", root), options, "toxcast").pool(split)


def load_chembl(
    root: str | Path | None = None,
    split: str = "train",
    *,
    bits: Bits = 1024,
    radius: Radius = 2,
) -> TablePool:
    """Load the pool of a split of ChEMBL, a regression; its targets are dealt to the splits.

    Args:
        root: the data folder; by default the one of `data_root`.
        split: `train`, `validation`, `test` or `all`.
        bits: the number of features of a molecule.
        radius: of the fragments that are counted.
    """
    check_table_split(split)
    options = TableOptions(
        features=FeatureChoice((MorganFeatures(SMILES, bits, radius),)), kind="regression"
    )
    return prepare_table(_source("chembl", root), options, "chembl").pool(split)


def _source(name: str, root: str | Path | None) -> Path:
    folder = data_root(root)
    path = find_assays(name, folder)
    if path is None:
        raise missing(name, folder, " or ".join(FILES[name][:2]), MANUAL[name])
    return path


def _sources(name: str) -> Callable[[Path], list[Path]]:
    def sources(root: Path) -> list[Path]:
        """List the file of the set, or nothing."""
        path = find_assays(name, root)
        return [] if path is None else [path]

    return sources


def _report(name: str, load: Callable[..., TablePool], splits: Sequence[str], root: Path) -> Report:
    """Compare the counts of a set of assays; where they are right, tell what its splits hold.

    Args:
        name: toxcast or chembl.
        load: its loader.
        splits: the splits that it has.
        root: the data folder.
    """
    path = find_assays(name, root)
    assert path is not None  # `verify` has seen that the set is present
    found, expected = counted(path), COUNTS[name]
    lines = [str(found), f"{found.filled:,} assays with at least one label"]
    if matches(path, CHECKSUMS[name]):
        lines.append(f"{path.name}: the known checksum")
    else:
        lines.append(f"{path.name}: not the known checksum; the counts decide, not the packing")
    problems = () if found == expected else (f"{name} has {found}; expected {expected}",)
    if not problems:
        pool = load(root, "all")
        lines += [pool.describe(), *pool.notes]
        for split in splits:
            lines.append(load(root, split).describe())
    return Report(name, tuple(lines), problems)


TOXCAST = DataSet(
    "toxcast",
    "a table of molecules and assays of toxicity, by family (US EPA)",
    "US government work: public domain",
    str(COUNTS["toxcast"]),
    load_toxcast,
    _sources("toxcast"),
    partial(_report, "toxcast", load_toxcast, (*SPLITS, TRUSTED)),
    MANUAL["toxcast"],
    splits=(*SPLITS, TRUSTED),
)
CHEMBL = DataSet(
    "chembl",
    "a table of molecules and their activities at protein targets, a regression (ChEMBL)",
    "CC BY-SA 3.0",
    str(COUNTS["chembl"]),
    load_chembl,
    _sources("chembl"),
    partial(_report, "chembl", load_chembl, SPLITS),
    MANUAL["chembl"],
)
