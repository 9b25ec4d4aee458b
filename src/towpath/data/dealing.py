"""Deal classes, tasks or groups to the splits 64 : 16 : 20, the same on every machine.

The order is that of a digest of the names, so that adding one name moves few others, and no split
depends on the order of files or columns.
"""

import hashlib
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable

from towpath.data.pool import SPLITS

_SHARES = (0.64, 0.80)  # cumulative ends of train and validation


def deal(names: Iterable[str], seed: int = 0) -> dict[str, str]:
    """Return the split of each name; fewer than three names are all for training.

    Args:
        names: what is dealt, each once.
        seed: another number deals in another order.
    """
    order = in_order(names, seed)
    count = len(order)
    if count < len(SPLITS):
        return dict.fromkeys(order, "train")
    split_of = {
        name: SPLITS[bisect_left(_SHARES, (rank + 0.5) / count)] for rank, name in enumerate(order)
    }
    if count < 6:
        split_of[order[-2]] = "validation"
    split_of[order[-1]] = "test"
    return split_of


def in_order(names: Iterable[str], seed: int = 0) -> list[str]:
    """Return the names in the order of their digests, which depends on nothing but name and seed.

    Args:
        names: what is put in order.
        seed: another number gives another order.
    """
    prefix = f"{seed}\0".encode() if seed else b""
    return sorted(names, key=lambda name: hashlib.sha256(prefix + _plain(name)).digest())


def _plain(name: str) -> bytes:
    # Composed form, because a Mac's disk returns the same name decomposed.
    return unicodedata.normalize("NFC", name).encode("utf-8", "surrogateescape")
