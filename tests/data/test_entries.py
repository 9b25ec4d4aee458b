"""Entries of the cache, whatever their array holds; `test_cache.py` has sets of images."""

import numpy as np
import pytest

from towpath.data.entries import EntryKind, Plan
from towpath.data.errors import DataError

KEY = "fedcba9876543210" * 4
NUMBERS = EntryKind(
    "numbers.npy",
    "facts.json",
    np.dtype(np.float32),
    lambda index: str(index["fact"]),
    doing="counting",
    what="The numbers of {}",
    every_block=True,
)


def plan(value: float, log: list[float], rows: int = 4):
    def fill(array):
        log.append(value)
        array[:] = value
        return lambda blocks: {"fact": f"{len(blocks)} blocks"}

    return lambda: Plan((rows, 3), fill)


def test_an_entry_of_floats_is_built_once_and_mapped(fresh_cache):
    log: list[float] = []
    first = NUMBERS.stored("n", KEY, plan(0.5, log))
    again = NUMBERS.stored("n", KEY, plan(1.5, log))
    assert log == [0.5]
    assert isinstance(again.array, np.memmap)
    assert again.array.dtype == np.float32
    assert (again.array == 0.5).all()
    assert first.facts == again.facts == "1 blocks"


def test_damage_in_any_block_is_noticed_on_loading(fresh_cache):
    log: list[float] = []
    rows = 130 * 2**20 // 12  # more blocks than a set of images has looked at on loading
    NUMBERS.stored("n", KEY, plan(0.5, log, rows))
    with (NUMBERS.folder("n", KEY) / "numbers.npy").open("r+b") as stream:
        stream.seek(2**20 + 5000)
        stream.write(b"\0\1")
    assert (NUMBERS.stored("n", KEY, plan(2.5, log, rows)).array[:5] == 2.5).all()
    assert log == [0.5, 2.5]


def test_an_index_without_its_facts_or_of_another_type_is_built_again(fresh_cache):
    log: list[float] = []
    NUMBERS.stored("n", KEY, plan(0.5, log))
    index = NUMBERS.folder("n", KEY) / "facts.json"
    index.write_text(index.read_text().replace('"fact"', '"fiction"'))
    NUMBERS.stored("n", KEY, plan(1.5, log))
    assert log == [0.5, 1.5]


def test_a_plan_that_fails_leaves_nothing(fresh_cache):
    def fill(array):
        raise DataError("cannot count")

    with pytest.raises(DataError, match="cannot count"):
        NUMBERS.stored("n", KEY, lambda: Plan((1, 3), fill))
    assert list(fresh_cache.iterdir()) == []
