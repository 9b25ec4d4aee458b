"""Loops that numba compiles: at their first call with a dtype, once for all later processes.

numba keeps what it compiled as long as the file of the loop stays as it is. A constant that a loop
uses must therefore stand in the same file, and who changes the options here has to touch the files
of the loops.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

Loop = TypeVar("Loop", bound=Callable[..., Any])
Array = np.ndarray[Any, Any]


def compiled(loop: Loop, *, reorder: bool = False) -> Loop:
    """Return the loop, compiled; what an earlier process compiled is taken from its cache.

    Products and sums may be fused, nothing else, so that NaN and infinities stay what they are. The
    interpreter is free for other threads while the loop runs.

    Args:
        loop: a function of arrays and numbers.
        reorder: whether sums over neighbouring numbers may be taken in any (fixed) order.
    """
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"contract", "reassoc"} if reorder else {"contract"},
    }
    try:
        result: Loop = numba.njit(cache=True, **options)(loop)
    except RuntimeError:  # no folder to keep it in can be written
        result = numba.njit(**options)(loop)
    return result
