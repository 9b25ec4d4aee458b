"""From a list of classes and their files to class pools, decoded once.

A loader only says which files make which class (`Listing`); this module decodes them, stores the
array under a key of the source's content, and hands out the pool of a split.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from towpath.data.cache import Blueprint, StoredClass, StoredSet, stored
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
    """How to read a source. `version` and the options that matter are part of the cache's key."""

    name: str
    version: int
    image_size: tuple[int, int]  # (H, W)
    channels: int
    inverted: bool = False  # dark ink on white paper becomes ink = 255
    options: str = ""


@dataclass(frozen=True)
class Found:
    """What a loader made of a source: its classes and sentences about what was understood."""

    listings: Sequence[Listing]
    notes: tuple[str, ...] = ()


def cache_key(path: Path, reading: Reading) -> str:
    """Digest of the source's content and of how it is read."""
    return hashlib.sha256(f"{content_key(path)} {reading!r}".encode()).hexdigest()


def read_source(path: Path, reading: Reading, find: Callable[[Source], Found]) -> StoredSet:
    """The decoded set; `find` and the decoder run only if the cache does not have it."""
    if min(reading.image_size) < 1:
        raise DataError(
            f"image_size is {reading.image_size[0]}; expected at least 1 pixel. The usual is 28 "
            "for drawings and 84 for photographs."
        )

    def blueprint() -> Blueprint:
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
            files = [file for listing in listings for file in listing.files]
            # of the files, not of the pixels: releases of Pillow decode a JPEG differently, and
            # of their contents only: a folder holds the same data as the archive of it
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


def _order(listing: Listing) -> tuple[str, str, str]:
    return (listing.split, listing.group, listing.name)


def split_pool(name: str, whole: StoredSet, split: str, synthetic: bool = False) -> ClassPool:
    """The pool of one split ('all': of every split) of a decoded set."""
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
    )


def check_split(split: str) -> None:
    """A split is 'train', 'validation', 'test' or 'all'."""
    known = (*SPLITS, "all")
    if split not in known:
        raise DataError(
            f"There is no split {split!r}; expected {', '.join(known)}.{nearest(split, known)} "
            "Choose one of these."
        )
