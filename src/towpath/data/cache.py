"""Decoded sets on disk: one memory-mapped array and one list of classes, keyed by content.

An entry is a folder `<set>-<key>/` with `images.npy` `[N, C, H, W]` uint8 and `classes.json`. It
is written under a temporary name and then renamed, so an entry that exists is complete. Later
damage shows in its size or in the checksums of its blocks, of which some are compared on loading
and the rest when they are first read (`blocks.py`); the entry is then built again.

Each entry stores a digest of the `content` that it was decoded from. A run records the digest, so
that data that changed between two commands are noticed.
"""

import errno
import hashlib
import json
import logging
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towpath.data.blocks import CheckedBlocks, block_count, checksums, sample
from towpath.data.errors import DataError
from towpath.data.locations import CACHE_VARIABLE, cache_root
from towpath.files import check_readable, read_bytes

_log = logging.getLogger("towpath.data")

FORMAT = 1
_ABANDONED_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class StoredClass:
    """One class of a decoded set: its split, group and name, and its rows in the array."""

    split: str
    group: str
    name: str
    start: int
    count: int


@dataclass(frozen=True)
class StoredSet:
    """A decoded set as loaded from the cache, with the classes of all its splits."""

    images: NDArray[np.uint8]  # [N, C, H, W], a read-only memory map
    classes: tuple[StoredClass, ...]
    notes: tuple[str, ...]
    content: str
    """digest of what was decoded: classes, splits and images"""
    blocks: CheckedBlocks


@dataclass(frozen=True)
class Blueprint:
    """A set to be built: its classes, the array's shape, and the function that fills the array.

    `fill` may return a digest of the files that it decoded. If it returns None, the pixels are
    taken as the content of the set.
    """

    classes: tuple[StoredClass, ...]
    shape: tuple[int, int, int, int]
    fill: Callable[[NDArray[np.uint8]], str | None]
    notes: tuple[str, ...] = ()


def stored(name: str, key: str, blueprint: Callable[[], Blueprint]) -> StoredSet:
    """Return the set that is cached under this key; build it first if it is missing or damaged.

    Args:
        name: the set's name, for the entry's folder and for messages.
        key: a digest of everything that decides what the entry contains.
        blueprint: makes the description of what to build; called only if the set must be built.
    """
    folder = cache_root() / f"{name}-{key[:24]}"
    found = _open(folder, every_block=False)
    if found is not None:
        return found
    try:
        _log.info("decoding %s, once, into %s", name, folder)
        _build(folder, blueprint())
    except OSError as error:
        raise DataError(
            f"The decoded {name} set cannot be written to {folder.parent} "
            f"({error.strerror or error}); expected a writable folder with enough space. "
            f"Name one with {CACHE_VARIABLE}."
        ) from error
    found = _open(folder, every_block=False)
    if found is None:
        raise DataError(
            f"The cache entry {folder} is damaged right after it was written; expected a disk that "
            f"keeps what is written. Name another folder with {CACHE_VARIABLE}."
        )
    return found


def is_stored(name: str, key: str) -> bool:
    """Return whether the cache has an entry under this key; the entry is not checked."""
    return (cache_root() / f"{name}-{key[:24]}" / "classes.json").is_file()


def discard_if_damaged(name: str, key: str) -> bool:
    """Remove the entry under this key if one of its blocks is damaged; return whether it was."""
    folder = cache_root() / f"{name}-{key[:24]}"
    if not folder.exists() or _open(folder, every_block=True) is not None:
        return False
    shutil.rmtree(folder)
    return True


def _build(folder: Path, blueprint: Blueprint) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    _require_space(folder.parent, math.prod(blueprint.shape))
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".partial", dir=folder.parent))
    try:
        images = np.lib.format.open_memmap(
            beside / "images.npy", mode="w+", dtype=np.uint8, shape=blueprint.shape
        )
        files = blueprint.fill(images)
        images.flush()
        del images
        blocks = list(checksums(beside / "images.npy").values())
        classes = [asdict(entry) for entry in blueprint.classes]
        index: dict[str, Any] = {
            "format": FORMAT,
            "shape": list(blueprint.shape),
            "bytes": (beside / "images.npy").stat().st_size,
            "blocks": blocks,
            "content": _content(classes, files or json.dumps(blocks)),
            "classes": classes,
            "notes": list(blueprint.notes),
        }
        with (beside / "classes.json").open("w", encoding="ascii") as stream:
            json.dump(index, stream)  # ascii escapes keep names that are not valid unicode
            stream.flush()
            os.fsync(stream.fileno())
        _publish(beside, folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _require_space(folder: Path, needed: int) -> None:
    """Raise an OSError if the decoded images will not fit, before hours go into decoding them."""
    if needed > shutil.disk_usage(folder).free:
        raise OSError(errno.ENOSPC, f"{needed / 2**30:,.1f} GiB do not fit on the disk")


def _publish(beside: Path, folder: Path) -> None:
    """Rename into place; an entry that another process finished meanwhile is as good as ours."""
    if folder.exists() and _open(folder, every_block=False) is None:
        damaged = folder.with_name(f"{beside.name}.damaged")
        os.rename(folder, damaged)
        shutil.rmtree(damaged, ignore_errors=True)
    try:
        os.rename(beside, folder)
    except OSError:
        if _open(folder, every_block=False) is None:
            raise


def _sweep(parent: Path) -> None:
    """Remove what killed processes left behind long ago."""
    for leftover in parent.glob(".*.partial*"):
        if time.time() - leftover.stat().st_mtime > _ABANDONED_SECONDS:
            shutil.rmtree(leftover, ignore_errors=True)


def _content(classes: list[dict[str, Any]], images: str) -> str:
    """Digest of the classes, with their splits and groups, and of their images."""
    return hashlib.sha256(json.dumps([classes, images], sort_keys=True).encode()).hexdigest()


def _open(folder: Path, every_block: bool) -> StoredSet | None:
    """The entry, or None if it is missing, damaged, or older than the digest of its content."""
    array = folder / "images.npy"
    try:
        index = json.loads(read_bytes(folder / "classes.json"))
        check_readable(array)
        if index["format"] != FORMAT or array.stat().st_size != index["bytes"]:
            return None
        count, sums = block_count(array), index["blocks"]
        known = range(count) if every_block else sample(count)
        if len(sums) != count or any(
            sums[block] != found for block, found in checksums(array, known).items()
        ):
            return None
        images = np.load(array, mmap_mode="r", allow_pickle=False)
        if list(images.shape) != index["shape"] or images.dtype != np.uint8:
            return None
        classes = tuple(StoredClass(**entry) for entry in index["classes"])
        start, row = images.offset, int(np.prod(images.shape[1:]))
        blocks = CheckedBlocks(array, sums, known, start, row)
        return StoredSet(images, classes, tuple(index["notes"]), str(index["content"]), blocks)
    except (OSError, ValueError, KeyError, TypeError):
        return None
