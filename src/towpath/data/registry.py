"""The data sets by name, and how a set or a folder of your own is loaded by the name given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from towpath.data.archive import is_archive_name
from towpath.data.cub import CUB
from towpath.data.data_set import DataSet
from towpath.data.errors import DataError
from towpath.data.feature_file import load_features
from towpath.data.glyphs import GLYPHS
from towpath.data.locations import data_root
from towpath.data.lookup import is_features_name
from towpath.data.mini_imagenet import MINI_IMAGENET
from towpath.data.omniglot import OMNIGLOT
from towpath.data.own_folder import load_folder
from towpath.data.pool import ClassPool
from towpath.data.tables.assays import CHEMBL, TOXCAST
from towpath.data.tables.loading import load_table
from towpath.data.tables.pool import TablePool
from towpath.data.tables.reading import is_table_name
from towpath.files import expanded
from towpath.wording import nearest

SETS = {entry.name: entry for entry in (GLYPHS, OMNIGLOT, MINI_IMAGENET, CUB, TOXCAST, CHEMBL)}


def known(name: str) -> DataSet:
    """Return the set of this name; the `DataError` for an unknown name suggests the nearest."""
    if name not in SETS:
        raise DataError(
            f"There is no data set {name!r}; expected {', '.join(SETS)}, or the path of a folder "
            f"or table of your own.{nearest(name, SETS)} Run `towpath data list` to see them."
        )
    return SETS[name]


def is_own_folder(name: str) -> bool:
    """Return whether the name is the path of the user's own folder or archive, not a set's name."""
    if name in SETS or is_table_name(name) or is_features_name(name):
        return False
    path = expanded(name)
    return path.is_dir() or (path.is_file() and is_archive_name(path.name))


def is_own_table(name: str) -> bool:
    """Return whether the name is the path of the user's own table, which need not be there."""
    return name not in SETS and is_table_name(name)


def is_own_features(name: str) -> bool:
    """Return whether the name is the path of the user's own features, which need not be there."""
    return name not in SETS and is_features_name(name)


def is_own_data(name: str) -> bool:
    """Return whether the name is the path of data of the user's own, not a set's name."""
    return is_own_table(name) or is_own_features(name) or is_own_folder(name)


def loader_of(name: str) -> Callable[..., ClassPool | TablePool]:
    """Return the function that loads a set, or the user's own folder, table or features.

    Args:
        name: a name in `SETS`, or the path of a folder, archive, table or file of features of the
            user's own.
    """
    if is_own_table(name):
        return load_table
    if is_own_features(name):
        return load_features
    return load_folder if is_own_folder(name) else known(name).load


def load(
    name: str, root: str | Path | None = None, split: str = "train", **options: Any
) -> ClassPool | TablePool:
    """Load the pool of a split of a data set, or of your own folder of images, table or features.

    Args:
        name: a name in `SETS`, or the path of a folder, archive, table or file of features of your
            own.
        root: the data folder that has the set; by default the one of `data_root`.
        split: `train`, `validation`, `test`, or (not for omniglot) `all`; of toxcast and of your
            own table also `trusted`.
        **options: options of the set's loader: `rotations=True`, `alphabets=30` (omniglot),
            `image_size=84` (all but glyphs), `channels=1 or 3` (your own folder),
            `shared_classes=True` (your own folder or features), `drawings`, `seed`, `scripts`
            (glyphs), `family="NVS"` (toxcast), `tasks`, `features` and the others of `load_table`
            (your own table).
    """
    loader = loader_of(name)
    place = name if is_own_data(name) else root
    try:
        return loader(place, split, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise DataError(
            f"{name} does not take these options: {', '.join(options)} ({error}); expected those "
            "that `towpath.data.load` documents. Remove what does not apply."
        ) from error


def load_images(
    name: str, root: str | Path | None = None, split: str = "train", **options: Any
) -> ClassPool:
    """Load the pool of a split as `load` does, where a table would be an error.

    Args:
        name: a name in `SETS`, or the path of a folder or archive of your own.
        root: the data folder that has the set; by default the one of `data_root`.
        split: the split.
        **options: options of the set's loader.
    """
    pool = load(name, root, split, **options)
    if not isinstance(pool, ClassPool) or not pool.of_images:
        raise DataError(f"{name} has no images; expected a set of images. Use `load` for any.")
    return pool


def present(name: str, root: str | Path | None = None) -> bool:
    """Whether the set can be loaded without a download."""
    entry = known(name)
    return entry.built_in or bool(entry.sources(data_root(root)))


def is_synthetic(name: str) -> bool:
    """Whether the set of this name, as recipes spell it, is one that no person made."""
    return name in SETS and SETS[name].synthetic


def stores_ink_as_one(name: str) -> bool:
    """Whether the set of this name, as recipes spell it, shows strokes stored with ink = 1."""
    return name in SETS and SETS[name].ink_is_one
