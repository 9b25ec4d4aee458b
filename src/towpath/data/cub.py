"""CUB-200-2011 (Wah et al. 2011): photographs of birds at 84x84, for tests under domain shift.

Official layout, from `CUB_200_2011.tgz`, another archive or a folder:
`CUB_200_2011/images/<NNN.Name>/<file>.jpg`. The split is that of Chen et al. (2019), by class
number: odd numbers train, 2 mod 4 validate, and 0 mod 4 are the 50 novel classes of the test.
"""

import re
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
from towpath.data.images import is_image_name
from towpath.data.locations import data_root
from towpath.data.lookup import missing, named_like
from towpath.data.pool import NO_GROUP, SPLITS, ClassPool
from towpath.data.set_report import Report, checksum_lines, repair_lines
from towpath.data.source import Source

STEM = "cub"
COUNTS = {(200, 11_788): "the full set", (50, 2_953): "the 50 novel classes of the test"}
"""classes and images of the sets that are complete"""
_FILES = "https://data.caltech.edu/records/65de6-vp158/files"
_MEMBER = re.compile(r"(?:^|/)(\d{3})\.([^/]+)/[^/]+$")
_LAYOUT = "CUB_200_2011/images/<NNN.Name>/<file>.jpg"


def find_source(root: Path) -> Path | None:
    """Return the folder or archive of CUB in the data folder, or None if there is none."""
    candidates = named_like(root, STEM)
    return candidates[0] if candidates else None


def reading(image_size: int) -> Reading:
    """Return how CUB is decoded at this image size, for `read_source` and the cache's key."""
    return Reading("cub", 1, (image_size, image_size), 3)


def load_all(path: Path, image_size: int = 84) -> StoredSet:
    """Return all splits of the folder or archive at `path`, decoded or from the cache."""

    def find(source: Source) -> Found:
        """List the photographs of each class, without the segmentation masks."""
        classes: dict[tuple[int, str], list[str]] = {}
        for name in source.names:
            match = _MEMBER.search(name)
            # The official archive holds segmentation masks under the same class names.
            if match and is_image_name(name) and "segmentations/" not in name:
                classes.setdefault((int(match[1]), f"{match[1]}.{match[2]}"), []).append(name)
        if not classes:
            raise DataError(
                f"{path} holds {len(source.names):,} files and no CUB image; expected {_LAYOUT}. "
                "Use the official archive or the folder it unpacks to."
            )
        return Found(
            [
                Listing(_split(number), NO_GROUP, label, tuple(files))
                for (number, label), files in classes.items()
            ]
        )

    return read_source(path, reading(image_size), find)


def _split(number: int) -> str:
    return "train" if number % 2 else ("validation" if number % 4 else "test")


def load_cub(
    root: str | Path | None = None, split: str = "test", *, image_size: ImageSize = 84
) -> ClassPool:
    """Load the class pool of a split of CUB.

    Args:
        root: the data folder; by default the one of `data_root`.
        split: `train`, `validation`, `test` (the 50 novel classes) or `all`.
        image_size: height and width that the photographs are resized to.
    """
    check_split(split)
    folder = data_root(root)
    path = find_source(folder)
    if path is None:
        raise missing(
            "CUB-200-2011",
            folder,
            f"CUB_200_2011.tgz, another archive or a folder with {_LAYOUT}",
            "Run `towpath data fetch cub`, or put it there yourself.",
        )
    return split_pool("cub", load_all(path, image_size), split)


def _sources(root: Path) -> list[Path]:
    path = find_source(root)
    return [] if path is None else [path]


def _is_decoded(root: Path) -> bool:
    path = find_source(root)
    return path is not None and is_decoded(path, reading(84))


_DOWNLOADS = (
    RemoteFile(
        "CUB_200_2011.tgz",
        "md5:97eceeb196236b17998738112f37df78",
        (f"{_FILES}/CUB_200_2011.tgz?download=1", f"{_FILES}/CUB_200_2011.tgz"),
    ),
)


def _verify(root: Path) -> Report:
    path = find_source(root)
    assert path is not None  # `verify` has seen that the set is present
    lines = repair_lines(path, reading(84))
    whole = load_all(path)
    found = (len(whole.classes), sum(entry.count for entry in whole.classes))
    lines.append(f"{found[0]} classes with {found[1]:,} images: {COUNTS.get(found, 'neither')}")
    for split in SPLITS:
        if any(entry.split == split for entry in whole.classes):
            lines.append(split_pool("cub", whole, split).describe())
    lines += checksum_lines(_DOWNLOADS, path)
    if found in COUNTS:
        return Report("cub", tuple(lines))
    problem = (
        f"cub has {found[0]} classes with {found[1]:,} images; expected 200 with 11,788, or the "
        "50 novel ones with 2,953"
    )
    return Report("cub", tuple(lines), (problem,))


CUB = DataSet(
    "cub",
    "photographs of birds, CUB-200-2011 (Wah et al. 2011)",
    "Caltech: research only",
    "200 classes, 50 of them for testing; 11,788 images, resized to 84x84",
    load_cub,
    _sources,
    _verify,
    "By hand: save CUB_200_2011.tgz from data.caltech.edu/records/65de6-vp158 into the "
    "data folder.",
    _DOWNLOADS,
    single_source=True,
    is_decoded=_is_decoded,
)
