"""Look for a set in the data folder, as a folder or archive, under the names that users give it."""

import re
from pathlib import Path

from towpath.data.archive import is_archive_name
from towpath.data.errors import DataError

PICKLE_SUFFIXES = (".pkl", ".pickle", ".p", ".pkl.gz", ".pickle.gz")
FEATURES_SUFFIX = ".features.npz"
"""how the name of a file of features ends; other NPZ files are tables"""


def is_features_name(name: str) -> bool:
    """Return whether the file name ends like that of a file of features."""
    return name.lower().endswith(FEATURES_SUFFIX)


def is_pickle_name(name: str) -> bool:
    """Return whether the file name ends like that of a pickle."""
    return name.lower().endswith(PICKLE_SUFFIXES)


def named_like(root: Path, stem: str) -> list[Path]:
    """List the folders, then the archives, in `root` whose names begin with `stem`.

    Case and everything but letters and digits are ignored: Mini-ImageNet matches miniimagenet.
    """
    if not root.is_dir():
        return []
    alike = [path for path in sorted(root.iterdir()) if _plain(path.name).startswith(stem)]
    folders = [path for path in alike if path.is_dir()]
    return folders + [path for path in alike if path.is_file() and is_archive_name(path.name)]


def pickles_like(root: Path, stem: str) -> list[Path]:
    """List the pickled caches in `root` and its folders whose names begin with `stem`."""
    if not root.is_dir():
        return []
    folders = [path for path in sorted(root.iterdir()) if path.is_dir()]
    places = [root, *(path for path in folders if _plain(path.name).startswith(stem))]
    files = [path for place in places for path in sorted(place.iterdir()) if path.is_file()]
    return [
        path
        for path in files
        if is_pickle_name(path.name) and (_plain(path.name).startswith(stem) or path.parent != root)
    ]


def refuse_pickle(path: Path | str, layouts: str) -> DataError:
    """Return the error to raise for a pickled cache; unpickling it could run any code.

    Args:
        path: the pickle that was found.
        layouts: the layouts that can be read instead, for the message.
    """
    name = path.name if isinstance(path, Path) else path
    return DataError(
        f"{name!r} is a pickled cache, and unpickling a download runs whatever code it carries; "
        f"expected {layouts}. Get the images themselves, or convert the cache on a machine you "
        "can throw away."
    )


def missing(name: str, root: Path, expected: str, manual: str) -> DataError:
    """Return the error to raise for a set that is not in the data folder.

    Args:
        name: the set, as people call it.
        root: the data folder.
        expected: the files or folders that would have been found.
        manual: how to get the set, as a sentence.
    """
    state = "is not there" if not root.exists() else "does not hold it"
    return DataError(
        f"{name} was looked for in {root}, which {state}; expected {expected}. {manual} "
        "Another data folder is named with --data-root or TOWPATH_DATA."
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
