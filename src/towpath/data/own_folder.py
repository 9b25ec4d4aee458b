"""Images of the user's own: a folder or archive of `class/`, `group/class/` or `split/class/`.

The layout is recognised by the depth and by the names of the first level: `train`, `val`, `test`
and the like are splits, anything else is a group. `split/group/class/` works too. Without splits on
disk the classes (or, from three groups on, whole groups) are dealt 64 : 16 : 20 in the order of a
digest of their names, so the split is the same on every machine. Images, in the formats of
`data/images.py`, are resized to `image_size`; `pool.notes` tells the user how the folder was read.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from towpath.data.build import (
    Found,
    ImageSize,
    Listing,
    Reading,
    check_split,
    read_source,
    split_pool,
)
from towpath.data.cache import StoredClass
from towpath.data.dealing import deal
from towpath.data.errors import DataError
from towpath.data.images import FORMATS, is_grey, is_image_name
from towpath.data.lookup import is_pickle_name
from towpath.data.pool import NO_GROUP, SPLITS, ClassPool
from towpath.data.source import Source, open_source
from towpath.files import expanded

LAYOUTS = "class/images, group/class/images, split/class/images or split/group/class/images"
SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
    "test": "test",
    "testing": "test",
}
HELD_OUT = ("validation", "test")
_COLOUR_SAMPLE = 64


def load_folder(
    path: str | Path,
    split: str = "train",
    *,
    image_size: ImageSize = 84,
    channels: int | None = None,
    name: str | None = None,
    shared_classes: bool = False,
) -> ClassPool:
    """Load the class pool of a split of your own folder or archive.

    Args:
        path: the folder or archive.
        split: `train`, `validation`, `test`, or `all` for every class.
        image_size: height and width that every image is resized to.
        channels: 1 (grey) or 3 (colour); by default grey if a sample of the images has no colour.
        name: what to call the set; by default, the name of the folder.
        shared_classes: allow a validation or test split to have classes of another split. These
            splits measure how well new classes are learned, so by default that is an error.
    """
    check_split(split)
    place = expanded(path)
    if image_size < 1 or channels not in (None, 1, 3):
        raise DataError(
            f"image_size is {image_size} and channels {channels}; expected a size of at least 1 "
            "and 1 (grey) or 3 (colour) channels. Correct them."
        )
    reading = Reading("folder", 1, (image_size, image_size), channels or _channels(place))
    whole = read_source(place, reading, find_classes)
    if split in HELD_OUT and not shared_classes:
        refuse_shared(place, whole.classes, split)
    return split_pool(name or place.name.split(".")[0], whole, split)


def file_names(path: str | Path, split: str = "train") -> dict[str, tuple[str, ...]]:
    """Return the files of each class of your own folder or archive, in the order of its images.

    Image `i` of a class, as `ClassPool.take` numbers them, was read from the file at `i`. Nothing
    is decoded.

    Args:
        path: the folder or archive.
        split: `train`, `validation`, `test`, or `all` for every class.
    """
    check_split(split)
    with open_source(expanded(path)) as source:
        found = find_classes(source)
    return {each.name: each.files for each in found.listings if split in ("all", each.split)}


def refuse_shared(path: Path, classes: Iterable[StoredClass], split: str) -> None:
    """Raise a `DataError` if the split has a class that another split has as well.

    Args:
        path: the user's data, for the message.
        classes: the classes of all splits.
        split: the split that is to be loaded.
    """
    splits = _splits_by_class((entry.name, entry.split) for entry in classes)
    shared = sorted(name for name, own in splits.items() if split in own and len(own) > 1)
    if shared:
        others = sorted(set().union(*(splits[name] for name in shared)) - {split})
        raise DataError(
            f"{path} has the class {shared[0]!r} in {split} and in {' and '.join(others)} "
            f"({len(shared)} of the {split} classes are shared); expected classes that no other "
            "split has, for tasks of new classes. Move whole classes to one split, put all images "
            "of a class into one folder without splits, or allow it with data.shared_classes: true."
        )


def _splits_by_class(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Class name -> splits that have it, from pairs of class name and split."""
    splits: dict[str, set[str]] = {}
    for name, split in pairs:
        splits.setdefault(unicodedata.normalize("NFC", name), set()).add(split)
    return splits


def _channels(path: Path) -> int:
    with open_source(path) as source:
        images = [file for file in source.names if is_image_name(file)]
        step = max(1, len(images) // _COLOUR_SAMPLE)
        return 1 if all(is_grey(source.read(file), file) for file in images[::step]) else 3


def find_classes(source: Source) -> Found:
    """Return the classes and splits of a tree of images, with notes on how it was read."""
    images = [file for file in source.names if is_image_name(file)]
    if not images:
        raise _no_images(source)
    depth, base = _depth(source, images)
    empty = [name for name in source.empty_folders() if name.count("/") + 1 == depth + len(base)]
    if empty:
        others = f" ({len(empty)} are empty)" if len(empty) > 1 else ""
        raise DataError(
            f"The class folder {empty[0]!r} in {source.path} has no images; expected at least one "
            f"in each{others}. Add images or remove it."
        )
    classes: dict[tuple[str, ...], list[str]] = {}
    for file in images:
        classes.setdefault(tuple(file.split("/")[len(base) : -1]), []).append(file)
    firsts = {parts[0].lower() for parts in classes}
    has_splits = depth >= 2 and firsts <= set(SPLIT_NAMES)
    if depth == 3 and not has_splits:
        raise DataError(
            f"{source.path} has images three folders deep and the first level is "
            f"{', '.join(sorted(firsts)[:4])}; expected train, val, test there. The layouts known "
            f"are {LAYOUTS}. Rename or flatten the folders."
        )
    if has_splits:
        listings = [_listing(SPLIT_NAMES[p[0].lower()], p[1:], f) for p, f in classes.items()]
    else:
        listings = _dealt(classes)
    return Found(listings, _notes(source, images, depth, has_splits, listings))


def _depth(source: Source, images: list[str]) -> tuple[int, list[str]]:
    """How many folders above the images matter (1 to 3), and a common first folder to ignore."""
    base: list[str] = []
    first = images[0].split("/")[0]
    alone = all(file.startswith(f"{first}/") for file in images)
    if alone and images[0].count("/") >= 2 and first.lower() not in SPLIT_NAMES:
        # An archive usually holds one folder with everything in it.
        base = [first] if not source.path.is_dir() else []
    depths = Counter(file.count("/") - len(base) for file in images)
    if len(depths) > 1 or not 1 <= next(iter(depths)) <= 3:
        examples = {file.count("/") - len(base): file for file in reversed(images)}
        shown = ", ".join(repr(examples[depth]) for depth in sorted(examples)[:3])
        raise DataError(
            f"{source.path} has images at {'different depths' if len(depths) > 1 else 'a depth'} "
            f"that no layout explains ({shown}); expected {LAYOUTS}. Move the images so that all "
            "lie equally deep."
        )
    return next(iter(depths)), base


def _listing(split: str, parts: tuple[str, ...], files: list[str]) -> Listing:
    group = parts[0] if len(parts) == 2 else NO_GROUP
    return Listing(split, group, "/".join(parts), tuple(files))


def _dealt(classes: dict[tuple[str, ...], list[str]]) -> list[Listing]:
    """Classes or whole groups dealt to the splits; too few to deal are all for training."""
    groups = {parts[0] for parts in classes if len(parts) == 2}
    by_group = len(groups) >= len(SPLITS)
    units = groups if by_group else {"/".join(parts) for parts in classes}
    split_of = deal(units)
    return [
        _listing(split_of[parts[0] if by_group else "/".join(parts)], parts, files)
        for parts, files in classes.items()
    ]


def _notes(
    source: Source, images: list[str], depth: int, has_splits: bool, listings: list[Listing]
) -> tuple[str, ...]:
    levels = {
        (1, False): "class/images",
        (2, False): "group/class/images",
        (2, True): "split/class/images",
        (3, True): "split/group/class/images",
    }
    counts = Counter(listing.split for listing in listings)
    sizes = ", ".join(f"{split} {counts[split]}" for split in SPLITS if counts[split])
    origin = "as on disk" if has_splits else "dealt by a digest of the names"
    notes = [
        f"layout: {levels[depth, has_splits]}, {len(images):,} images in {len(listings):,} classes",
        f"classes a split: {sizes} ({origin})",
    ]
    splits = _splits_by_class((listing.name, listing.split) for listing in listings)
    shared = sorted(name for name, own in splits.items() if len(own) > 1)
    if shared:
        notes.append(
            f"{len(shared):,} classes are in more than one split, first {shared[0]!r}: evaluation "
            "would not be on new classes"
        )
    kept = set(images)
    others = [file for file in source.names if file not in kept]
    if others:
        notes.append(f"ignored {len(others):,} files that are not images, first {others[0]!r}")
    return tuple(notes)


def _no_images(source: Source) -> DataError:
    for file in source.names:
        if is_pickle_name(file):
            return DataError(
                f"{source.path} holds pickled data ({file!r}) and no images; expected {LAYOUTS}. "
                "Unpickling runs code, so it is refused: export the images as files."
            )
    return DataError(
        f"{source.path} holds {len(source.names):,} files and none is an image; expected "
        f"{LAYOUTS} of {', '.join(FORMATS)}. Name the folder above the class folders."
    )
