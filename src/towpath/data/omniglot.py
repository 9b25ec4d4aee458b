"""Omniglot (Lake, Salakhutdinov, Tenenbaum 2015): 1,623 characters of 50 alphabets, 20 drawers.

Official layout, unpacked or as zips: `images_background/<Alphabet>/characterNN/<id>_<drawer>.png`
and `images_evaluation/...`. Read as 28x28, one channel, ink = 255 (1.0 in an episode). A group is
an alphabet. Training and validation classes come from the 30 background alphabets, test classes
are the 20 evaluation alphabets.
"""

import re
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
from towpath.data.cache import StoredSet
from towpath.data.errors import DataError
from towpath.data.folders import data_root
from towpath.data.locate import missing
from towpath.data.pool import ClassPool
from towpath.data.source import Source

# Held out of the 30 background alphabets: small and large ones, and scripts of different kinds.
VALIDATION_ALPHABETS = (
    "Alphabet_of_the_Magi",
    "Grantha",
    "Japanese_(katakana)",
    "N_Ko",
    "Tagalog",
)
PARTS = {"background": "images_background", "evaluation": "images_evaluation"}
_MEMBER = re.compile(r"(?:^|/)images_(?:background|evaluation)/([^/]+)/([^/]+)/[^/]+\.png$")
_BARE = re.compile(r"^([^/]+)/([^/]+)/[^/]+\.png$")
_EXPECTED = "images_background.zip and images_evaluation.zip, or the folders they unpack to"
_MANUAL = "Run `towpath data fetch omniglot`, or put the zips there yourself."


def find_part(root: Path, part: str) -> Path | None:
    """The folder or zip of one part ('background', 'evaluation'), if it is there."""
    stem = PARTS[part]
    for place in (root / "omniglot", root / "omniglot" / "python", root, root / "omniglot-py"):
        for candidate in (place / stem, place / f"{stem}.zip"):
            if candidate.exists():
                return candidate
    return None


def reading(part: str, image_size: int) -> Reading:
    """How one part is read."""
    return Reading(f"omniglot-{part}", 1, (image_size, image_size), 1, inverted=True)


def load_part(path: Path, part: str, image_size: int = 28) -> StoredSet:
    """One part, decoded."""

    def find(source: Source) -> Found:
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


def load_omniglot(
    root: str | Path | None = None,
    split: str = "train",
    *,
    image_size: ImageSize = 28,
    rotations: bool = False,
) -> ClassPool:
    """Omniglot's pool of a split; `rotations` adds every class turned by 90, 180, 270 degrees."""
    check_split(split)
    if split == "all":
        raise DataError(
            "Omniglot has no split 'all': its two parts are separate archives; expected 'train', "
            "'validation' or 'test'. Load the three in turn."
        )
    part = "evaluation" if split == "test" else "background"
    folder = data_root(root)
    path = find_part(folder, part)
    if path is None:
        raise missing(f"Omniglot ({PARTS[part]})", folder, _EXPECTED, _MANUAL)
    pool = split_pool("omniglot", load_part(path, part, image_size), split)
    return pool.with_rotations() if rotations else pool
