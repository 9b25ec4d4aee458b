"""Omniglot (Lake, Salakhutdinov, Tenenbaum 2015): 1,623 characters of 50 alphabets, 20 drawers.

Official layout, unpacked or as zips: `images_background/<Alphabet>/characterNN/<id>_<drawer>.png`
and `images_evaluation/...`. Read as 28x28, one channel, ink = 255 (1.0 in an episode). A group is
an alphabet. Training and validation classes come from the 30 background alphabets, test classes
are the 20 evaluation alphabets.

Validation classes are held out of the background in one of two ways, chosen by the number of
alphabets to train on: five whole alphabets (25 remain), or some characters of every alphabet (30
remain, as in the paper on TOW, which does not say where its validation tasks come from).
"""

import re
from dataclasses import replace
from pathlib import Path

from towpath.data.build import (
    Found,
    ImageSize,
    Listing,
    Reading,
    check_split,
    is_decoded,
    read_source,
    split_pool,
)
from towpath.data.cache import StoredSet
from towpath.data.data_set import DataSet
from towpath.data.download import RemoteFile
from towpath.data.errors import DataError
from towpath.data.locations import data_root
from towpath.data.lookup import missing
from towpath.data.pool import ClassPool
from towpath.data.set_report import Report, checksum_lines, classes_and_images, repair_lines
from towpath.data.source import Source

# Held out of the 30 background alphabets: small and large ones, and scripts of different kinds.
VALIDATION_ALPHABETS = (
    "Alphabet_of_the_Magi",
    "Grantha",
    "Japanese_(katakana)",
    "N_Ko",
    "Tagalog",
)
TRAINING_ALPHABETS = (25, 30)
# With 30, this share of each alphabet's characters is held out, and at least as many as a 5-way
# task within the alphabet needs. The smallest background alphabet has 14 characters.
VALIDATION_SHARE = 1 / 5
VALIDATION_LEAST = 5
PARTS = {"background": "images_background", "evaluation": "images_evaluation"}
COUNTS = {"background": (30, 964, 20), "evaluation": (20, 659, 20)}
"""alphabets, characters, and images of each character"""
_RAW = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
_GITHUB = "https://github.com/brendenlake/omniglot/raw/master/python"
_MEMBER = re.compile(r"(?:^|/)images_(?:background|evaluation)/([^/]+)/([^/]+)/[^/]+\.png$")
_BARE = re.compile(r"^([^/]+)/([^/]+)/[^/]+\.png$")
_EXPECTED = "images_background.zip and images_evaluation.zip, or the folders they unpack to"
_MANUAL = "Run `towpath data fetch omniglot`, or put the zips there yourself."


def find_part(root: Path, part: str) -> Path | None:
    """Return the folder or zip of a part (`background` or `evaluation`), or None without one."""
    stem = PARTS[part]
    for place in (root / "omniglot", root / "omniglot" / "python", root, root / "omniglot-py"):
        for candidate in (place / stem, place / f"{stem}.zip"):
            if candidate.exists():
                return candidate
    return None


def reading(part: str, image_size: int) -> Reading:
    """Return how a part is decoded at this image size, for `read_source` and the cache's key."""
    return Reading(f"omniglot-{part}", 1, (image_size, image_size), 1, inverted=True)


def load_part(path: Path, part: str, image_size: int = 28) -> StoredSet:
    """Return one part (`background` or `evaluation`), decoded or from the cache.

    Args:
        path: the folder or zip of the part.
        part: which of the two it is.
        image_size: height and width that the drawings are resized to.
    """

    def find(source: Source) -> Found:
        """List the drawings of each character, with the alphabet as its group."""
        classes: dict[tuple[str, str], list[str]] = {}
        for name in source.names:
            match = _MEMBER.search(name) or _BARE.match(name)
            if match:
                classes.setdefault((match[1], match[2]), []).append(name)
        if not classes:
            raise DataError(
                f"{path} holds {len(source.names):,} files and none of them is an Omniglot image; "
                f"expected {PARTS[part]}/<Alphabet>/characterNN/<id>_<drawer>.png. Use the "
                "official zip or the folder it unpacks to."
            )
        return Found(
            [
                Listing(_split(part, alphabet), alphabet, f"{alphabet}/{character}", tuple(files))
                for (alphabet, character), files in classes.items()
            ]
        )

    return read_source(path, reading(part, image_size), find)


def _split(part: str, alphabet: str) -> str:
    if part == "evaluation":
        return "test"
    return "validation" if alphabet in VALIDATION_ALPHABETS else "train"


def with_every_alphabet(background: StoredSet) -> StoredSet:
    """Return the background with characters of every alphabet in training and in validation.

    A fifth of an alphabet's characters is held out for validation, and at least five. They are
    evenly spaced in the numbering of the alphabet, so they depend on nothing but the files.
    """
    alphabets: dict[str, list[int]] = {}
    for position, entry in enumerate(background.classes):
        alphabets.setdefault(entry.group, []).append(position)
    held_out: set[int] = set()
    for positions in alphabets.values():
        count = len(positions)
        wanted = min(count, max(VALIDATION_LEAST, round(count * VALIDATION_SHARE)))
        held_out |= {positions[(2 * i + 1) * count // (2 * wanted)] for i in range(wanted)}
    classes = tuple(
        replace(entry, split="validation" if position in held_out else "train")
        for position, entry in enumerate(background.classes)
    )
    note = (
        f"All {len(alphabets)} background alphabets train; {len(held_out)} of their "
        f"{len(classes)} characters are held out for validation, at least "
        f"{VALIDATION_LEAST} of each alphabet."
    )
    return replace(background, classes=classes, notes=(*background.notes, note))


def load_omniglot(
    root: str | Path | None = None,
    split: str = "train",
    *,
    image_size: ImageSize = 28,
    rotations: bool = False,
    alphabets: int = 25,
) -> ClassPool:
    """Load the class pool of a split of Omniglot.

    Args:
        root: the data folder; by default the one of `data_root`.
        split: 'train', 'validation' or 'test'.
        image_size: side of the images in pixels.
        rotations: whether each class turned by 90, 180 and 270 degrees makes three more classes.
        alphabets: how many alphabets to train on. With 25, five whole alphabets are held out for
            validation; with 30, some characters of every alphabet are (`with_every_alphabet`).
            The test split is the same for both.
    """
    check_split(split)
    if split == "all":
        raise DataError(
            "Omniglot has no split 'all': its two parts are separate archives; expected 'train', "
            "'validation' or 'test'. Load the three in turn, or train on all background alphabets "
            "with alphabets=30."
        )
    if alphabets not in TRAINING_ALPHABETS:
        raise DataError(
            f"alphabets is {alphabets!r}; expected 25 (five of the 30 background alphabets are "
            "held out for validation) or 30 (some characters of each are). Choose one of the two."
        )
    part = "evaluation" if split == "test" else "background"
    folder = data_root(root)
    path = find_part(folder, part)
    if path is None:
        raise missing(f"Omniglot ({PARTS[part]})", folder, _EXPECTED, _MANUAL)
    stored = load_part(path, part, image_size)
    if alphabets == 30 and part == "background":
        stored = with_every_alphabet(stored)
    pool = split_pool("omniglot", stored, split, ink_is_one=True)
    return pool.with_rotations() if rotations else pool


def _sources(root: Path) -> list[Path]:
    return [path for part in PARTS if (path := find_part(root, part))]


def _is_decoded(root: Path) -> bool:
    found = {part: path for part in PARTS if (path := find_part(root, part))}
    return bool(found) and all(is_decoded(path, reading(part, 28)) for part, path in found.items())


def _file(part: str, md5: str) -> RemoteFile:
    name = f"{PARTS[part]}.zip"
    return RemoteFile(name, f"md5:{md5}", (f"{_RAW}/{name}", f"{_GITHUB}/{name}"))


_FILES = (
    _file("background", "68d2efa1b9178cc56df9314c21c6e718"),
    _file("evaluation", "6b91aef0f799c5bb55b94e3f2daec811"),
)


def _verify(root: Path) -> Report:
    lines: list[str] = []
    problems: list[str] = []
    for part, expected in COUNTS.items():
        path = find_part(root, part)
        if path is None:
            problems.append(f"{PARTS[part]} is not in {root}")
            continue
        lines += repair_lines(path, reading(part, 28))
        whole = load_part(path, part)
        alphabets = len({entry.group for entry in whole.classes})
        classes, each = classes_and_images(whole.classes)
        lines.append(f"{part}: {classes} characters in {alphabets} alphabets, {each} images each")
        lines += checksum_lines(_FILES, path)
        if (alphabets, classes, each) != (expected[0], expected[1], str(expected[2])):
            problems.append(
                f"{part} has {classes} characters in {alphabets} alphabets, {each} images each; "
                f"expected {expected[1]} in {expected[0]}, {expected[2]} each"
            )
    return Report("omniglot", tuple(lines), tuple(problems))


OMNIGLOT = DataSet(
    "omniglot",
    "handwritten characters of 50 alphabets (Lake et al. 2015)",
    "MIT",
    "964 + 659 characters of 30 + 20 alphabets, 20 images each",
    load_omniglot,
    _sources,
    _verify,
    "By hand: save images_background.zip and images_evaluation.zip from the python/ folder "
    "of github.com/brendenlake/omniglot into omniglot/ of the data folder.",
    _FILES,
    "omniglot",
    ink_is_one=True,
    is_decoded=_is_decoded,
)
