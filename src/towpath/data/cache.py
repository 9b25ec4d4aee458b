"""Decoded sets on disk: one memory-mapped array and one list of classes, keyed by content.

An entry (`entries.py`) is a folder `<set>-<key>/` with `images.npy` `[N, C, H, W]` uint8 and
`classes.json`. Some blocks are compared with their checksums on loading, the rest when they are
first read (`blocks.py`).

Each entry stores a digest of the `content` that it was decoded from. A run records the digest, so
that data that changed between two commands are noticed.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from towpath.data.blocks import CheckedBlocks
from towpath.data.entries import Entry, EntryKind, Index, Plan


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
    return _as_set(_IMAGES.stored(name, key, lambda: _plan(blueprint())))


def is_stored(name: str, key: str) -> bool:
    """Return whether the cache has an entry under this key; the entry is not checked."""
    return (_IMAGES.folder(name, key) / _IMAGES.index_file).is_file()


def discard_if_damaged(name: str, key: str) -> bool:
    """Remove the entry under this key if one of its blocks is damaged; return whether it was."""
    folder = _IMAGES.folder(name, key)
    if not folder.exists() or _IMAGES.opened(folder, every_block=True) is not None:
        return False
    shutil.rmtree(folder)
    return True


@dataclass(frozen=True)
class _Facts:
    classes: tuple[StoredClass, ...]
    notes: tuple[str, ...]
    content: str


def _facts(index: Index) -> _Facts:
    classes = tuple(StoredClass(**entry) for entry in index["classes"])
    return _Facts(classes, tuple(index["notes"]), str(index["content"]))


_IMAGES = EntryKind(
    "images.npy",
    "classes.json",
    np.dtype(np.uint8),
    _facts,
    doing="decoding",
    what="The decoded {} set",
)


def _as_set(entry: Entry[_Facts]) -> StoredSet:
    facts = entry.facts
    return StoredSet(entry.array, facts.classes, facts.notes, facts.content, entry.blocks)


def _plan(blueprint: Blueprint) -> Plan:
    classes = [asdict(entry) for entry in blueprint.classes]

    def fill(images: NDArray[np.uint8]) -> Callable[[list[int]], Index]:
        """Decode the images, and return what makes the index."""
        files = blueprint.fill(images)
        return lambda blocks: {
            "content": _content(classes, files or json.dumps(blocks)),
            "classes": classes,
            "notes": list(blueprint.notes),
        }

    return Plan(blueprint.shape, fill)


def _content(classes: list[Index], images: str) -> str:
    """Digest of the classes, with their splits and groups, and of their images."""
    return hashlib.sha256(json.dumps([classes, images], sort_keys=True).encode()).hexdigest()
