"""Locks on folders, on any operating system."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # everywhere else
    msvcrt = None  # type: ignore[assignment]

LOCK_FILE = ".lock"
"""the file to lock in a folder, on systems that cannot lock the folder itself"""


class LockedError(Exception):
    """The folder is locked by another process."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process; raise a LockedError if another process has locked it.

    It is a lock of the operating system, which ends with the process, however that ends. On POSIX
    it is on the folder itself and leaves no file; on Windows it is on a file in the folder. On a
    file system or an operating system without such locks, nothing is locked.
    """
    if fcntl is not None:
        place = os.open(folder, os.O_RDONLY)
    else:
        place = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT)
    try:
        _lock(place, folder)
        yield
    finally:
        os.close(place)  # which unlocks it
        if fcntl is None:
            with suppress(OSError):  # another process has it open
                (folder / LOCK_FILE).unlink()


def _lock(place: int, folder: Path) -> None:
    try:
        if fcntl is not None:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            msvcrt.locking(place, msvcrt.LK_NBLCK, 1)
    except (BlockingIOError, PermissionError) as error:
        raise LockedError(str(folder)) from error
    except OSError:
        pass  # a file system that knows no locks
