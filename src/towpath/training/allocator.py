"""Keep freed memory instead of handing it back: page faults are a fifth of a small step on Linux.

glibc returns large blocks to the system at once, and every evaluation asks for them again. Raising
its thresholds trades a little resident memory for that. Measured on one core: a first-order MAML
task 54 -> 47 ms; ten uniform ProtoNet steps 3.4 s of user and 1.0 s of system time -> 3.5 and 0.0.
It concerns the whole process, so only the command line does it.
"""

import ctypes
import logging
import platform

logger = logging.getLogger(__name__)
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8


def keep_freed_memory() -> bool:
    """Make glibc keep freed memory; return False where there is no glibc."""
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
