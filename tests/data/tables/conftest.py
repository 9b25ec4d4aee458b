"""Tables that tests share."""

import numpy as np
import pytest

from tests.data.tables.table_files import assay_rows, csv_bytes


@pytest.fixture
def small(tmp_path):
    """A data folder with a table like ToxCast, of which assays of NVS have enough labels."""
    draws = np.random.default_rng(0)
    names = [f"{family}_{i}" for family in ("NVS", "ATG", "APR") for i in range(10)]
    smiles = ["C" * (1 + i % 20) + "O" * (1 + i // 20) for i in range(120)]
    rows = [
        {"smiles": s, **{name: f"{draws.integers(0, 2):.1f}" for name in names}} for s in smiles
    ]
    rows[5]["smiles"] = "FAIL"
    (tmp_path / "assays").mkdir()
    (tmp_path / "assays" / "toxcast.csv").write_bytes(csv_bytes(rows))
    return tmp_path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "assays.csv"
    path.write_bytes(csv_bytes(assay_rows()))
    return path
