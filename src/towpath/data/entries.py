"""Entries of the cache: one memory-mapped array and one index of facts about it, keyed by content.

An entry is a folder `<name>-<key>/` with an `.npy` file and a `.json` file. It is written under a
temporary name and then renamed, so an entry that exists is complete. Later damage shows in its size
or in the checksums of its blocks, of which some or all are compared on loading; the entry is then
built again.
"""

import errno
import json
import logging
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from towpath.data.blocks import CheckedBlocks, block_count, checksums, sample
from towpath.data.errors import DataError
from towpath.data.locations import CACHE_VARIABLE, cache_root
from towpath.files import check_readable, read_bytes

_log = logging.getLogger("towpath.data")

FORMAT = 1
_ABANDONED_SECONDS = 24 * 3600.0
Facts = TypeVar("Facts")


Index = dict[str, Any]
"""what is written down beside an array, by name: values that JSON can hold"""


@dataclass(frozen=True)
class Plan:
    """An entry to be built.

    `fill` fills the array and returns a function that makes the index of facts from the checksums
    of the array's blocks.
    """

    shape: tuple[int, ...]
    fill: Callable[[NDArray[Any]], Callable[[list[int]], Index]]


@dataclass(frozen=True)
class Entry(Generic[Facts]):
    """An entry as loaded from the cache."""

    array: NDArray[Any] = field(repr=False)  # a read-only memory map
    facts: Facts
    blocks: CheckedBlocks


@dataclass(frozen=True)
class EntryKind(Generic[Facts]):
    """What entries of one kind look like.

    `read` turns the index into facts; a KeyError, TypeError or ValueError of it means damage.
    """

    array_file: str
    index_file: str
    dtype: np.dtype[Any]
    read: Callable[[Index], Facts]
    doing: str
    """what building it is called, for the log"""
    what: str
    """what an entry is called in messages, with {} for its name"""
    every_block: bool = False
    """whether all blocks are compared on loading, not some"""

    def stored(self, name: str, key: str, plan: Callable[[], Plan]) -> Entry[Facts]:
        """Return the entry under this key; build it first if it is missing or damaged.

        Args:
            name: the beginning of the entry's folder, for people.
            key: a digest of everything that decides what the entry contains.
            plan: says what to build; called only if the entry must be built.
        """
        folder = self.folder(name, key)
        found = self.opened(folder, self.every_block)
        if found is not None:
            return found
        try:
            _log.info("%s %s, once, into %s", self.doing, name, folder)
            self._build(folder, plan())
        except OSError as error:
            raise DataError(
                f"{self.what.format(name)} cannot be written to {folder.parent} "
                f"({error.strerror or error}); expected a writable folder with enough space. "
                f"Name one with {CACHE_VARIABLE}."
            ) from error
        found = self.opened(folder, self.every_block)
        if found is None:
            raise DataError(
                f"The cache entry {folder} is damaged right after it was written; expected a disk "
                f"that keeps what is written. Name another folder with {CACHE_VARIABLE}."
            )
        return found

    def folder(self, name: str, key: str) -> Path:
        """Return where the entry under this key is, or would be."""
        return cache_root() / f"{name}-{key[:24]}"

    def opened(self, folder: Path, every_block: bool) -> Entry[Facts] | None:
        """Return the entry in a folder, or None if it is missing, damaged or of an older format.

        Args:
            folder: the entry.
            every_block: whether to compare the checksums of all blocks, not of some.
        """
        array = folder / self.array_file
        try:
            index = json.loads(read_bytes(folder / self.index_file))
            check_readable(array)
            if index["format"] != FORMAT or array.stat().st_size != index["bytes"]:
                return None
            count, sums = block_count(array), index["blocks"]
            known = range(count) if every_block else sample(count)
            if len(sums) != count or any(
                sums[block] != found for block, found in checksums(array, known).items()
            ):
                return None
            values = np.load(array, mmap_mode="r", allow_pickle=False)
            if list(values.shape) != index["shape"] or values.dtype != self.dtype:
                return None
            start, row = values.offset, int(np.prod(values.shape[1:])) * values.itemsize
            blocks = CheckedBlocks(array, sums, known, start, row)
            return Entry(values, self.read(index), blocks)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _build(self, folder: Path, plan: Plan) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder.parent)
        _require_space(folder.parent, math.prod(plan.shape) * self.dtype.itemsize)
        beside = Path(
            tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".partial", dir=folder.parent)
        )
        try:
            array = beside / self.array_file
            values = np.lib.format.open_memmap(array, mode="w+", dtype=self.dtype, shape=plan.shape)
            facts = plan.fill(values)
            values.flush()
            del values
            blocks = list(checksums(array).values())
            index: Index = {
                "format": FORMAT,
                "shape": list(plan.shape),
                "bytes": array.stat().st_size,
                "blocks": blocks,
                **facts(blocks),
            }
            with (beside / self.index_file).open("w", encoding="ascii") as stream:
                json.dump(index, stream)  # ascii escapes keep names that are not valid unicode
                stream.flush()
                os.fsync(stream.fileno())
            self._publish(beside, folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)

    def _publish(self, beside: Path, folder: Path) -> None:
        """Rename into place; an entry that another process finished meanwhile is as good."""
        if folder.exists() and self.opened(folder, self.every_block) is None:
            damaged = folder.with_name(f"{beside.name}.damaged")
            os.rename(folder, damaged)
            shutil.rmtree(damaged, ignore_errors=True)
        try:
            os.rename(beside, folder)
        except OSError:
            if self.opened(folder, self.every_block) is None:
                raise


def _require_space(folder: Path, needed: int) -> None:
    """Raise an OSError if the array will not fit, before hours go into filling it."""
    if needed > shutil.disk_usage(folder).free:
        raise OSError(errno.ENOSPC, f"{needed / 2**30:,.1f} GiB do not fit on the disk")


def _sweep(parent: Path) -> None:
    """Remove what killed processes left behind long ago."""
    for leftover in parent.glob(".*.partial*"):
        if time.time() - leftover.stat().st_mtime > _ABANDONED_SECONDS:
            shutil.rmtree(leftover, ignore_errors=True)
