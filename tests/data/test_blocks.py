"""A damaged block of a large decoded set never reaches a task."""

import pickle

import numpy as np
import pytest

from towpath.data.build import split_pool
from towpath.data.cache import Blueprint, StoredClass, is_stored, stored
from towpath.data.errors import DataError

KEY = "fedcba9876543210" * 4
ROW = 2**17  # bytes of an image: eight to a block
ROWS = 130 * 8  # 130 blocks, of which loading looks at every other one


def large():
    def fill(images):
        images[:] = 7

    half = ROWS // 2
    classes = (
        StoredClass("train", "g", "a", 0, half),
        StoredClass("train", "g", "b", half, half),
    )
    return split_pool(
        "large",
        stored("set", KEY, lambda: Blueprint(classes, (ROWS, 1, 2**8, 2**9), fill)),
        "train",
    )


def damage(pool, row):
    """Change one byte in the middle of an image."""
    with open(pool.images.filename, "r+b") as stream:
        stream.seek(pool.images.offset + row * ROW + ROW // 2)
        stream.write(b"\0")


@pytest.mark.parametrize("row", [9, 13, 605])  # in blocks 1 and 75 that loading does not look at
def test_a_damaged_block_among_many_is_found_when_its_images_are_asked_for(fresh_cache, row):
    damage(large(), row)
    pool = large()
    assert (pool.take(0, range(7)) == 7).all()  # block 0
    position, inside = divmod(row, ROWS // 2)
    with pytest.raises(DataError, match=r"block \d+ of 131 does not match .* again"):
        pool.take(position, [0, inside])
    assert not is_stored("set", KEY)
    again = large()
    assert (again.take(position, [inside]) == 7).all()


def test_an_image_that_ends_in_a_damaged_block_is_found(fresh_cache):
    # the array's header shifts the end of row 7 into block 1
    with open(large().images.filename, "r+b") as stream:
        stream.seek(2**20)
        stream.write(b"\0")
    with pytest.raises(DataError, match="damaged"):
        large().take(0, [7])


def test_a_block_is_read_once(fresh_cache, monkeypatch):
    pool = large()
    expected = pool.take(0, range(300)).copy()
    monkeypatch.setattr("towpath.data.blocks.checksums", None)  # calling it would fail
    assert np.array_equal(pool.take(0, range(300)), expected)


def test_a_pool_that_was_sent_to_another_process_still_checks(fresh_cache):
    pool = pickle.loads(pickle.dumps(large()))
    damage(pool, 13)
    with pytest.raises(DataError, match="block 1 of 131"):
        pool.take(0, [13])
