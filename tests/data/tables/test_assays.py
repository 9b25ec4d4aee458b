"""ToxCast and ChEMBL: small tables of the same shape, and the real ones where they are."""

import pytest

from towpath.cli.main import main
from towpath.data import DataError, load
from towpath.data.tables.assay_counts import COUNTS, AssayCounts, counted
from towpath.data.tables.pool import TablePool

pytest.importorskip("rdkit", reason="needs the extra chem")


def names(pool: TablePool) -> set[str]:
    return {task.name for task in pool.tasks}


def test_an_incomplete_set_fails_verification(small, fresh_cache, capsys):
    assert main(["data", "verify", "toxcast", "--data-root", str(small)]) == 2
    captured = capsys.readouterr()
    assert "COUNTS ARE WRONG" in captured.out
    assert "120 compounds, 30 assays, 3,600 labels; expected 8,615 compounds" in captured.err


def test_a_set_that_is_not_there_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(DataError, match=r"assays/toxcast\.csv\.gz.*moleculenet"):
        load("toxcast", tmp_path)


def test_the_real_toxcast_has_the_known_counts(real_root):
    path = real_root / "assays" / "toxcast.csv.gz"
    assert counted(path) == COUNTS["toxcast"] == AssayCounts(8_615, 617, 1_538_395, 617)


def test_the_real_toxcast_is_verified_with_its_invalid_molecules(real_root, capsys):
    assert main(["data", "verify", "toxcast", "--data-root", str(real_root)]) == 0
    out = capsys.readouterr().out
    for line in (
        "8,615 compounds, 617 assays, 1,538,395 labels",
        "toxcast.csv.gz: the known checksum",
        "left out 18 of 8,615 rows whose 'smiles' is no molecule",
        "train 430, validation 48, test 134, trusted 5",
    ):
        assert line in out


def test_the_real_chembl_is_a_regression_of_610_targets(real_root):
    path = real_root / "assays" / "chembl_5thresh.csv.gz"
    assert counted(path) == COUNTS["chembl"] == AssayCounts(23_871, 691, 91_047, 610)
