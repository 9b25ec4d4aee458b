"""Where the data and the cache are on this machine.

The data folder (`--data-root`, `TOWPATH_DATA`) has archives and folders as users got them, and may
be read-only. The cache folder (`TOWPATH_CACHE`) has decoded arrays, and only towpath writes to it.
"""

import os
from pathlib import Path

import pooch

from towpath.files import expanded

DATA_VARIABLE = "TOWPATH_DATA"
CACHE_VARIABLE = "TOWPATH_CACHE"


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """Return the data folder, which need not exist.

    It is `root` if given, else `TOWPATH_DATA`, else a folder in the user's cache directory.
    """
    chosen = root or os.environ.get(DATA_VARIABLE) or Path(pooch.os_cache("towpath")) / "data"
    return expanded(chosen)


def cache_root() -> Path:
    """Return the folder for decoded arrays, which need not exist.

    It is `TOWPATH_CACHE` if set, else a folder in the user's cache directory.
    """
    chosen = os.environ.get(CACHE_VARIABLE) or Path(pooch.os_cache("towpath")) / "decoded"
    return expanded(chosen)
