"""Families of assays: one tested on, some of its assays trusted."""

import pytest

from towpath.data import SETS, DataError
from towpath.data.tables.assays import load_toxcast
from towpath.data.tables.pool import TablePool

pytest.importorskip("rdkit", reason="needs the extra chem")


def names(pool: TablePool) -> set[str]:
    return {task.name for task in pool.tasks}


def test_a_family_is_tested_on_with_five_of_its_assays_trusted(small, fresh_cache):
    found = {s: load_toxcast(small, s, bits=64) for s in SETS["toxcast"].splits}
    assert {s: len(pool) for s, pool in found.items()} == {
        "train": 18,
        "validation": 2,
        "test": 5,
        "trusted": 5,
    }
    assert set(found["test"].groups) == set(found["trusted"].groups) == {"NVS"}
    assert set(found["train"].groups) == {"ATG", "APR"}
    every = [name for pool in found.values() for name in names(pool)]
    assert len(every) == len(set(every)) == 30
    assert any("left out 1 of 120 rows" in note for note in found["train"].notes)


def test_options_choose_the_family_the_trusted_and_the_validation(small, fresh_cache):
    options = {"family": "ATG", "trusted": 2, "validation": 0.0, "bits": 64}
    assert len(load_toxcast(small, "train", **options)) == 20
    assert len(load_toxcast(small, "test", **options)) == 8
    with pytest.raises(DataError, match="no split 'validation'"):
        load_toxcast(small, "validation", **options)
    with pytest.raises(
        DataError, match=r"'NSV'; expected one of APR, ATG, NVS.*Did you mean 'NVS'"
    ):
        load_toxcast(small, "test", family="NSV", bits=64)
    with pytest.raises(DataError, match="has 10 assays, 10 of them with 24 rows of each class"):
        load_toxcast(small, "test", trusted=10, bits=64)


def test_another_family_changes_nothing_in_who_is_trusted(small, fresh_cache):
    one = names(load_toxcast(small, "trusted", bits=64))
    assert one == names(load_toxcast(small, "trusted", bits=64, validation=0.3))
