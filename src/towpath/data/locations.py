"""Where data and caches live.

The data folder (`--data-root`, `TOWPATH_DATA`) holds archives and folders as users have them and
may be read-only. The cache folder (`TOWPATH_CACHE`) holds decoded arrays and is always ours.
"""

import os
from pathlib import Path

import pooch

from towpath.files import expanded

DATA_VARIABLE = "TOWPATH_DATA"
CACHE_VARIABLE = "TOWPATH_CACHE"


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """`root` if given, else `TOWPATH_DATA`, else a folder of the user's; it need not exist."""
    chosen = root or os.environ.get(DATA_VARIABLE) or Path(pooch.os_cache("towpath")) / "data"
    return expanded(chosen)


def cache_root() -> Path:
    """`TOWPATH_CACHE`, else a folder of the user's; it need not exist."""
    chosen = os.environ.get(CACHE_VARIABLE) or Path(pooch.os_cache("towpath")) / "decoded"
    return expanded(chosen)
