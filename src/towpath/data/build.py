"""Turn a list of classes and their files into class pools, decoding each file once.

A loader only lists which files make which class (`Listing`); this module decodes them, stores the
array under a key of the source's content, and returns the pool of a split.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from towpath.data.cache import Blueprint, StoredClass, StoredSet, is_stored, stored
from towpath.data.errors import DataError
from towpath.data.images import decode
from towpath.data.pool import SPLITS, ClassEntry, ClassPool
from towpath.data.source import Source, content_key, open_source
from towpath.validation import Range
from towpath.wording import nearest

ImageSize = Annotated[int, Range(1, 4096)]
"""Height and width, in pixels, that images are resized to."""


@dataclass(frozen=True)
class Listing:
    """One class as a loader found it: where it belongs and which files are its images."""

    split: str
    group: str
    name: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """How to read a source. Every field is part of the cache's key.

    A change of a loader that changes what it reads raises `version`, which outdates older entries.
    """

    name: str
    version: int
    image_size: tuple[int, int]  # (H, W)
    channels: int
    inverted: bool = False  # dark ink on white paper becomes ink = 255
    options: str = ""


@dataclass(frozen=True)
class Found:
    """What a loader found in a source: its classes, and notes for the user on how it was read."""

    listings: Sequence[Listing]
    notes: tuple[str, ...] = ()


def cache_key(path: Path, reading: Reading) -> str:
    """Return a digest of the source's content and of how it is read, the key of its cache entry."""
    return hashlib.sha256(f"{content_key(path)} {reading!r}".encode()).hexdigest()


def read_source(path: Path, reading: Reading, find: Callable[[Source], Found]) -> StoredSet:
    """Return the decoded set, from the cache if it has it.

    Args:
        path: the folder or archive to read.
        reading: how its images are decoded.
        find: lists the classes of the opened source; called only if the set must be decoded.
    """
    if min(reading.image_size) < 1:
        raise DataError(
            f"image_size is {reading.image_size[0]}; expected at least 1 pixel. The usual is 28 "
            "for drawings and 84 for photographs."
        )

    def blueprint() -> Blueprint:
        """List the classes and their rows; no image is decoded yet."""
        with open_source(path) as source:
            found = find(source)
        listings = sorted(found.listings, key=_order)
        classes: list[StoredClass] = []
        start = 0
        for listing in listings:
            count = len(listing.files)
            if count == 0:
                raise DataError(
                    f"The class {listing.name!r} in {path} has no images; expected at least one. "
                    "Add images or remove the class."
                )
            classes.append(StoredClass(listing.split, listing.group, listing.name, start, count))
            start += count

        def fill(images: NDArray[np.uint8]) -> str:
            """Decode every file into its row, and return a digest of the files."""
            files = [file for listing in listings for file in listing.files]
            # The digest is of the files, not of the pixels, because releases of Pillow decode a
            # JPEG differently; and of their contents only, not of their paths, because a folder
            # has the same data as an archive of it.
            content = hashlib.sha256()
            with open_source(path) as source:
                for row, file in enumerate(files):
                    read = source.read(file)
                    content.update(hashlib.sha256(read).digest())
                    pixels = decode(read, file, reading.image_size, reading.channels)
                    images[row] = 255 - pixels if reading.inverted else pixels
            return content.hexdigest()

        shape = (start, reading.channels, *reading.image_size)
        return Blueprint(tuple(classes), shape, fill, found.notes)

    return stored(reading.name, cache_key(path, reading), blueprint)


def is_decoded(path: Path, reading: Reading) -> bool:
    """Return whether the cache has what `read_source` would return for this source."""
    return is_stored(reading.name, cache_key(path, reading))


def _order(listing: Listing) -> tuple[str, str, str]:
    return (listing.split, listing.group, listing.name)


def split_pool(
    name: str,
    whole: StoredSet,
    split: str,
    *,
    synthetic: bool = False,
    ink_is_one: bool = False,
) -> ClassPool:
    """Return the class pool of one split of a decoded set.

    Args:
        name: what the set is called in messages and results.
        whole: the decoded set, with all its splits.
        split: a split of the set, or `'all'` for every class of it.
        synthetic: whether the images are neither drawn nor photographed by people.
        ink_is_one: whether the images are strokes on paper with the ink stored as 255.
    """
    present = sorted({entry.split for entry in whole.classes})
    if split != "all" and split not in present:
        raise DataError(
            f"{name} as found has no split {split!r}; it has {', '.join(present)}."
            f"{nearest(split, present)} Choose one of these, or 'all'."
        )
    entries = tuple(
        ClassEntry(entry.name, entry.group, entry.start, entry.count)
        for entry in whole.classes
        if split in ("all", entry.split)
    )
    return ClassPool(
        name,
        split,
        whole.images,
        entries,
        synthetic,
        whole.notes,
        content=whole.content,
        blocks=whole.blocks,
        ink_is_one=ink_is_one,
    )


def check_split(split: str) -> None:
    """Raise a `DataError` unless the split is `train`, `validation`, `test` or `all`."""
    known = (*SPLITS, "all")
    if split not in known:
        raise DataError(
            f"There is no split {split!r}; expected {', '.join(known)}.{nearest(split, known)} "
            "Choose one of these."
        )
