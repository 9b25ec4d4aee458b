"""mini-ImageNet with the split of Ravi and Larochelle (2017): 64 / 16 / 20 classes, 84x84 colour.

Two layouts are read, from a folder or an archive: the csv layout (`train.csv`, `val.csv`,
`test.csv` with `filename,label`, and `images/`), and the tree `train|val|test/<class>/<image>`.
A class has as many images as are found (600 in full, 100 in the lite version). The classes have no
groups. Pickled caches are refused, because unpickling them could run any code.
"""

import csv
import io
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
from towpath.data.errors import DataError
from towpath.data.images import is_image_name
from towpath.data.locations import data_root
from towpath.data.lookup import is_pickle_name, missing, named_like, pickles_like, refuse_pickle
from towpath.data.pool import NO_GROUP, ClassPool
from towpath.data.set_report import Report, classes_and_images, repair_lines
from towpath.data.source import Source

STEM = "miniimagenet"
SPLIT_NAMES = {
    "train": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
}
LAYOUTS = (
    "either train.csv, val.csv, test.csv (`filename,label`) beside images/, or folders "
    "train|val|test/<class>/<image>.jpg"
)
CLASSES = {"train": 64, "validation": 16, "test": 20}
_CSV = re.compile(r"^(?:(.*)/)?(train|val|valid|validation|test)\.csv$")
_TREE = re.compile(r"(?:^|/)(train|val|valid|validation|test)/([^/]+)/([^/]+)$")
_MANUAL = (
    "ImageNet's terms ask for a form, so it cannot be fetched: get it from image-net.org (or a "
    "colleague who has), and put the archive or folder, named mini-imagenet, there."
)


def find_source(root: Path) -> Path | None:
    """Return the folder or archive of mini-ImageNet in the data folder, or None without one."""
    candidates = named_like(root, STEM)
    if candidates:
        return candidates[0]
    if (root / "train.csv").is_file() and (root / "images").is_dir():
        return root
    return None


def reading(image_size: int) -> Reading:
    """Return how mini-ImageNet is decoded at this image size, for `read_source` and its key."""
    return Reading("mini-imagenet", 1, (image_size, image_size), 3)


def load_all(path: Path, image_size: int = 84) -> StoredSet:
    """Return all splits of the folder or archive at `path`, decoded or from the cache."""

    def find(source: Source) -> Found:
        """List the classes in whichever of the two layouts the source has."""
        tables = {name: match for name in source.names if (match := _CSV.match(name))}
        if tables:
            return Found(_from_tables(source, tables), ("layout: csv files beside images/",))
        listings = _from_tree(source)
        if listings:
            return Found(listings, ("layout: train|val|test/<class>/<image>",))
        for name in source.names:
            if is_pickle_name(name):
                raise refuse_pickle(name, LAYOUTS)
        raise DataError(
            f"{path} holds {len(source.names):,} files in neither of the two layouts that are "
            f"known for mini-ImageNet; expected {LAYOUTS}. Rearrange the files, or load it as your "
            "own folder."
        )

    return read_source(path, reading(image_size), find)


def _from_tables(source: Source, tables: dict[str, re.Match[str]]) -> list[Listing]:
    images = {name.rsplit("/", 1)[-1]: name for name in source.names if is_image_name(name)}
    listings: list[Listing] = []
    for table, match in tables.items():
        split = SPLIT_NAMES[match[2]]
        text = io.StringIO(source.read(table).decode("utf-8-sig", errors="replace"), newline="")
        rows = csv.DictReader(text)
        if not {"filename", "label"} <= set(rows.fieldnames or ()):
            raise DataError(
                f"{table!r} in {source.path} has the columns {rows.fieldnames or []}; expected "
                "filename,label in the first line. Use the csv files of Ravi and Larochelle."
            )
        classes: dict[str, list[str]] = {}
        absent: list[str] = []
        for row in rows:
            name = (row["filename"] or "").rsplit("/", 1)[-1]
            if name in images:
                classes.setdefault(row["label"] or "", []).append(images[name])
            else:
                absent.append(name)
        if absent:
            raise DataError(
                f"{table!r} in {source.path} names {len(absent):,} images that are not there, "
                f"first {absent[0]!r}; expected every file of the table in images/. Complete the "
                "images, or remove those lines."
            )
        listings += [
            Listing(split, NO_GROUP, label, tuple(files)) for label, files in classes.items()
        ]
    return listings


def _from_tree(source: Source) -> list[Listing]:
    classes: dict[tuple[str, str], list[str]] = {}
    for name in source.names:
        match = _TREE.search(name)
        if match and is_image_name(name):
            classes.setdefault((SPLIT_NAMES[match[1]], match[2]), []).append(name)
    return [
        Listing(split, NO_GROUP, label, tuple(files)) for (split, label), files in classes.items()
    ]


def load_mini_imagenet(
    root: str | Path | None = None, split: str = "train", *, image_size: ImageSize = 84
) -> ClassPool:
    """Load the class pool of a split of mini-ImageNet.

    Args:
        root: the data folder; by default the one of `data_root`.
        split: `train`, `validation`, `test` or `all`.
        image_size: height and width that the photographs are resized to.
    """
    check_split(split)
    folder = data_root(root)
    path = find_source(folder)
    if path is None:
        for pickled in pickles_like(folder, STEM):
            raise refuse_pickle(pickled, LAYOUTS)
        raise missing("mini-ImageNet", folder, f"mini-imagenet/ or .zip with {LAYOUTS}", _MANUAL)
    return split_pool("mini-imagenet", load_all(path, image_size), split)


def _sources(root: Path) -> list[Path]:
    path = find_source(root)
    return [] if path is None else [path]


def _is_decoded(root: Path) -> bool:
    path = find_source(root)
    return path is not None and is_decoded(path, reading(84))


def _verify(root: Path) -> Report:
    path = find_source(root)
    assert path is not None  # `verify` has seen that the set is present
    lines = repair_lines(path, reading(84))
    whole = load_all(path)
    problems: list[str] = []
    for split, expected in CLASSES.items():
        classes, each = classes_and_images(whole.classes, split)
        lines.append(f"{split}: {classes} classes, {each} images each")
        if classes != expected:
            problems.append(f"{split} has {classes} classes; expected {expected}")
    return Report("mini-imagenet", (*lines, *whole.notes), tuple(problems))


MINI_IMAGENET = DataSet(
    "mini-imagenet",
    "photographs, 100 classes of ImageNet (Vinyals et al. 2016)",
    "ImageNet terms: research only",
    "64 / 16 / 20 classes, 600 images each in full, 84x84",
    load_mini_imagenet,
    _sources,
    _verify,
    "ImageNet's terms ask for a form, so it cannot be fetched: get it from image-net.org "
    "(or a colleague who has), and put the archive or folder, named mini-imagenet, in the "
    "data folder.",
    is_decoded=_is_decoded,
)
