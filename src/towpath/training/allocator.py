"""Keep freed memory instead of handing it back: on Linux, half of a small step is page faults.

glibc returns large blocks to the system at once, and every evaluation asks for them again. Raising
its thresholds (measured: a ProtoNet task 47 -> 27 ms, a MAML task 54 -> 45 ms on one core) trades a
little resident memory for that. It concerns the whole process, so only the command line does it.
"""

import ctypes
import logging
import platform

logger = logging.getLogger(__name__)
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8


def keep_freed_memory() -> bool:
    """Tell glibc to keep what is freed; False where there is no glibc."""
    if platform.libc_ver()[0] != "glibc":
        return False
    libc = ctypes.CDLL(None)
    done = (
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
        and libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
        and libc.mallopt(M_TOP_PAD, 1 << 26)
        # worker threads would otherwise get arenas of their own, which do give memory back
        and libc.mallopt(M_ARENA_MAX, 1)
    )
    logger.info("allocator: %s", "freed memory is kept" if done else "unchanged")
    return bool(done)
