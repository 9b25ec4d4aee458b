"""A class pool: the images of a split, by group (alphabet, super-class) and class, for every set.

Shapes: `images [N, C, H, W]` uint8, normally a read-only memory map; the images of one class are
the rows `start .. start+count-1`. Several pools (the splits of a set, rotated classes) share one
array, so a pool takes no memory beyond the pages that episodes read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from towpath.data.blocks import CheckedBlocks
from towpath.data.errors import DataError
from towpath.wording import nearest

SPLITS = ("train", "validation", "test")
NO_GROUP = "all"


@dataclass(frozen=True)
class ClassEntry:
    """One class: its name, its group, its rows in the array, and a rotation in quarter turns."""

    name: str
    group: str
    start: int
    count: int
    rotation: int = 0


@dataclass(frozen=True, eq=False)
class ClassPool:
    """The classes of one split, with their images.

    `synthetic` marks images that no person drew or photographed. `ink_is_one` marks strokes on
    paper whose ink is stored as 255, which is 1 in an episode.
    """

    name: str
    split: str
    images: NDArray[Any] = field(repr=False)  # [N, C, H, W] uint8; vectors of a FeaturePool [N, D]
    classes: tuple[ClassEntry, ...] = field(repr=False)
    synthetic: bool = False
    notes: tuple[str, ...] = ()  # for the user: how the loader read the files
    content: str = ""  # digest of classes, splits and images; empty for a pool made by hand
    blocks: CheckedBlocks | None = field(default=None, repr=False)  # of a set in the cache
    ink_is_one: bool = False
    channels: int = 0  # of the images that `take` returns; 0 for those of the array

    of_images: ClassVar[bool] = True
    """whether a sample is an image, which can be shown"""
    whole: ClassVar[float] = 255.0
    """the stored number that is 1 in an episode"""

    def __post_init__(self) -> None:
        if not self.classes:
            raise DataError(
                f"The {self.split} split of {self.name} has no classes; expected at least one. "
                "Check the folder, or choose another split."
            )
        self._check_samples()

    def _check_samples(self) -> None:
        if self.images.dtype != np.uint8 or self.images.ndim != 4:
            raise DataError(
                f"The images of {self.name} are {self.images.dtype} {list(self.images.shape)}; "
                "expected uint8 [N, C, H, W]. Convert them before making a ClassPool."
            )

    def __len__(self) -> int:
        return len(self.classes)

    def __getstate__(self) -> dict[str, Any]:
        """Pickling for worker processes sends the path of a memory map, not its pixels."""
        state = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if isinstance(self.images, np.memmap) and self.images.filename is not None:
            state["images"] = str(self.images.filename)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state["images"], str):
            state["images"] = np.load(state["images"], mmap_mode="r", allow_pickle=False)
        self.__dict__.update(state)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """The shape of one image: (channels, height, width)."""
        channels, height, width = self.images.shape[1:]
        return self.channels or channels, height, width

    @property
    def names(self) -> list[str]:
        """The names of the classes, which records of a run repeat."""
        return [entry.name for entry in self.classes]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input of a network, which is that of an image."""
        return self.image_shape

    @property
    def image_count(self) -> int:
        """The number of images of all classes together."""
        return sum(entry.count for entry in self.classes)

    @cached_property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """The positions in `classes` of each group's classes, by the group's name."""
        groups: dict[str, list[int]] = {}
        for position, entry in enumerate(self.classes):
            groups.setdefault(entry.group, []).append(position)
        return {name: tuple(positions) for name, positions in groups.items()}

    @cached_property
    def _pixels(self) -> NDArray[np.uint8]:
        """The same memory as a plain array: indexing a `memmap` object costs several times more."""
        return self.images.view(np.ndarray)

    def take(self, position: int, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return a copy of some images of a class: `[len(rows), C, H, W]`.

        Args:
            position: the class, as an index into `classes`.
            rows: which of its images, numbered 0..count-1.
        """
        entry = self.classes[position]
        wanted = np.asarray(rows, dtype=np.int64) + entry.start
        if self.blocks is not None:
            self.blocks.require(wanted)
        taken = self._pixels[wanted]
        if entry.rotation:
            taken = np.ascontiguousarray(np.rot90(taken, entry.rotation, axes=(2, 3)))
        return _in_channels(taken, self.channels) if self.channels else taken

    def with_channels(self, channels: int) -> "ClassPool":
        """Return the pool with grey images as colour ones (repeated), or colour ones as grey.

        Args:
            channels: 1 for grey, 3 for colour.
        """
        if channels not in (1, 3):
            raise DataError(f"channels is {channels}; expected 1 for grey or 3 for colour.")
        return replace(self, channels=channels)

    def with_rotations(self) -> "ClassPool":
        """Return the pool with each class four times, turned by 0, 90, 180 and 270 degrees."""
        if self.images.shape[2] != self.images.shape[3]:
            raise DataError(
                f"The images of {self.name} are {list(self.image_shape)}; expected square ones to "
                "rotate by 90 degrees. Load the set with an image_size, or without rotations."
            )
        turned = tuple(
            replace(
                entry, name=f"{entry.name}@{90 * turns}" if turns else entry.name, rotation=turns
            )
            for turns in range(4)
            for entry in self.classes
        )
        return replace(self, classes=turned)

    def at_least(self, images: int) -> "ClassPool":
        """Return the pool without the classes that have fewer images than this."""
        kept = tuple(entry for entry in self.classes if entry.count >= images)
        if not kept:
            largest = max(self.classes, key=lambda entry: entry.count)
            raise DataError(
                f"No class of {self.name} ({self.split}) has {images} images; the largest, "
                f"{largest.name!r}, has {largest.count}. Ask for fewer shots or query images."
            )
        return replace(self, classes=kept)

    def only(self, groups: Iterable[str]) -> "ClassPool":
        """Return the pool with the classes of these groups only."""
        wanted = set(groups)
        for group in sorted(wanted - set(self.groups)):
            raise DataError(
                f"{self.name} ({self.split}) has no group {group!r}; it has "
                f"{', '.join(sorted(self.groups))}.{nearest(group, self.groups)} "
                "Name groups of this list."
            )
        return replace(self, classes=tuple(c for c in self.classes if c.group in wanted))

    def counted(self) -> str:
        """Return how much the pool holds, in a few words."""
        return f"{len(self):,} classes, {self.image_count:,} images"

    def describe(self) -> str:
        """Return one line for people: the set, its classes, groups, images and their shape."""
        counts = [entry.count for entry in self.classes]
        low, high = min(counts), max(counts)
        each = f"{low}" if low == high else f"{low} to {high}"
        groups = f" in {len(self.groups)} groups" if len(self.groups) > 1 else ""
        synthetic = " (synthetic)" if self.synthetic else ""
        return (
            f"{self.name}{synthetic}, {self.split}: {len(self):,} classes{groups}, "
            f"{each} {'images' if self.of_images else 'vectors'} each, {self._samples_text()}"
        )

    def _samples_text(self) -> str:
        channels, height, width = self.image_shape
        colour = "grey" if channels == 1 else "colour"
        return f"{self.image_count:,} images of {height}x{width}, {colour}"


def memory_map_path(pool: ClassPool) -> Path | None:
    """Return the file of the pool's array if it is a memory map, else None."""
    filename = getattr(pool.images, "filename", None)
    return None if filename is None else Path(filename)


def _in_channels(images: NDArray[np.uint8], channels: int) -> NDArray[np.uint8]:
    """Images `[n, C, H, W]` with another number of channels; grey is the usual luminance."""
    if images.shape[1] == channels:
        return images
    if channels == 1:
        grey = np.einsum("nchw,c->nhw", images.astype(np.float64), LUMINANCE)
        return np.asarray(np.rint(grey)[:, None], dtype=np.uint8)
    return np.repeat(images, channels, axis=1)


LUMINANCE = np.array([0.299, 0.587, 0.114])
"""shares of red, green and blue in grey (ITU-R 601)"""
