"""Checksums of the blocks of a file, compared when a block is first read.

A decoded set may be larger than anybody wants to read before training begins, so loading it looks
at some blocks only. The others are compared with their checksums here, each before the first image
in it is handed out: a damaged block never reaches a task, and the price is one pass over what is
used.
"""

import shutil
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from towpath.data.errors import DataError

BLOCK = 2**20
CHECKED_ON_LOAD = 64


def checksums(path: Path, chosen: Iterable[int] | None = None) -> dict[int, int]:
    """Return the CRC-32 of the chosen blocks of a file, or of every block, by block number.

    The file is read, not mapped: checking must not make the whole array resident in memory.
    """
    if chosen is None:
        chosen = range(block_count(path))
    sums: dict[int, int] = {}
    with path.open("rb") as stream:
        for block in chosen:
            stream.seek(block * BLOCK)
            sums[block] = zlib.crc32(stream.read(BLOCK))
    return sums


def block_count(path: Path) -> int:
    """Return how many blocks the file has; the last one may be shorter than the others."""
    return -(-path.stat().st_size // BLOCK)


def sample(count: int) -> list[int]:
    """Choose the blocks to check on loading: all of a small file, evenly spaced ones of a large.

    Args:
        count: how many blocks the file has.
    """
    return sorted(set(np.linspace(0, count - 1, min(count, CHECKED_ON_LOAD)).astype(int).tolist()))


class CheckedBlocks:
    """Compares each block of a decoded set with its checksum before it is first used.

    Args:
        path: the array on disk, in an entry of the cache that is removed if it is damaged.
        sums: checksum of each block.
        known: numbers of the blocks that were compared on loading and need no second look.
        start: offset of the first row, in bytes.
        row_bytes: length of a row.
    """

    def __init__(
        self, path: Path, sums: list[int], known: Iterable[int], start: int, row_bytes: int
    ) -> None:
        self.path, self.sums = path, sums
        self.start, self.row_bytes = start, row_bytes
        self._unknown = set(range(len(sums))) - set(known)

    def require(self, rows: Iterable[int]) -> None:
        """Raise a `DataError` if a block with some of these rows is not as it was written."""
        if not self._unknown:
            return
        touched: set[int] = set()
        for row in rows:
            first = self.start + int(row) * self.row_bytes
            touched.update(range(first // BLOCK, (first + self.row_bytes - 1) // BLOCK + 1))
        for block in sorted(touched & self._unknown):
            try:
                found = checksums(self.path, [block])[block]
            except OSError as error:
                raise DataError(
                    f"The decoded copy {self.path} cannot be read ({error.strerror or error}); "
                    "expected the file to stay there while it is used. Run the command again."
                ) from error
            if found != self.sums[block]:
                raise self._damaged(block)
            self._unknown.discard(block)

    def _damaged(self, block: int) -> DataError:
        entry = self.path.parent
        shutil.rmtree(entry, ignore_errors=True)
        do = f"Delete {entry}, then run" if entry.exists() else "It was removed: run"
        return DataError(
            f"The decoded copy {entry} is damaged (block {block} of {len(self.sums)} does not "
            f"match its checksum); expected what was written. {do} the command again, which "
            "decodes the set anew."
        )
