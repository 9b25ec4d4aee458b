"""Fingerprints of molecules, compared with RDKit's own; without RDKit, one sentence."""

import sys
from pathlib import Path

import numpy as np
import pytest

from towpath.data.errors import DataError
from towpath.data.tables.columns import Table, TextColumn
from towpath.data.tables.molecules import MorganFeatures

ETHANOL, BENZENE = "CCO", "c1ccccc1"


def table(*smiles: str) -> Table:
    return Table("t.csv", {"smiles": TextColumn("smiles", smiles)})


def part(features: MorganFeatures, *smiles: str):
    return features.part(table(*smiles), (), Path())


@pytest.fixture
def rdkit_chem():
    return pytest.importorskip("rdkit.Chem", reason="needs the extra chem")


@pytest.mark.parametrize(("bits", "radius"), [(1024, 2), (64, 1)])
def test_counts_are_those_of_rdkit_as_logarithms(fresh_cache, rdkit_chem, bits, radius):
    from rdkit.Chem import rdMolDescriptors

    found = part(MorganFeatures("smiles", bits, radius), ETHANOL, BENZENE)
    for row, smiles in enumerate((ETHANOL, BENZENE)):
        molecule = rdkit_chem.MolFromSmiles(smiles)
        counts = np.zeros(bits)
        # the older interface, which hashes in its own way to the same places
        hashed = rdMolDescriptors.GetHashedMorganFingerprint(molecule, radius, nBits=bits)
        for place, count in hashed.GetNonzeroElements().items():
            counts[place] = count
        np.testing.assert_allclose(found.values[row], np.log1p(counts), rtol=1e-6)
    assert not found.standardised


def test_bits_say_only_whether_a_fragment_is_there(fresh_cache, rdkit_chem):
    counted = part(MorganFeatures("smiles"), BENZENE).values
    there = part(MorganFeatures("smiles", counts=False), BENZENE).values
    assert set(np.unique(there)) == {0.0, 1.0}
    np.testing.assert_array_equal(there, counted > 0)
    assert counted.max() > 1  # benzene has six of each


def test_an_invalid_molecule_is_left_out_in_silence_and_told(fresh_cache, rdkit_chem, capfd):
    found = part(MorganFeatures("smiles", 64), ETHANOL, "C1CC", "", "FAIL")
    assert found.usable is not None
    assert found.usable.tolist() == [True, False, False, False]
    assert "left out 3 of 4 rows whose 'smiles' is no molecule" in found.notes[1]
    assert "'C1CC'" in found.notes[1]
    captured = capfd.readouterr()
    assert captured.err == captured.out == ""


def test_without_rdkit_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(DataError, match=r"pip install 'towpath\[chem\]'"):
        part(MorganFeatures("smiles"), ETHANOL)


@pytest.mark.parametrize(
    "options", [{"bits": 4}, {"bits": True}, {"radius": -1}, {"counts": "yes"}, {"column": ""}]
)
def test_wrong_options_are_refused(options):
    with pytest.raises(DataError, match=r"features \(morgan\) found"):
        MorganFeatures(**{"column": "smiles", **options})
