"""All reading and writing of files, with error messages for users.

Reading opens regular files only, also through links: a FIFO would wait for ever. Writing is atomic
(a reader sees all of a file or none), takes the place of nothing or of a regular file, never of a
link, a folder, a FIFO or a device, and leaves nothing behind when it fails. A file at a place that
its user named is an `Output`: it does not take the place of what somebody else made.

Every failure is a `FileError` whose message tells the user what went wrong and what to do.
"""

import errno
import io
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from towpath.wording import quoted

REASONS = {
    errno.EACCES: ("no permission", "Change its permissions, or ask whoever owns it"),
    errno.EPERM: ("no permission", "Change its permissions, or ask whoever owns it"),
    errno.EROFS: ("the file system is read-only", "Choose another place"),
    errno.ENAMETOOLONG: ("the name is too long", "Choose a shorter one"),
    errno.ELOOP: ("its links lead in a circle", "Remove the link or choose another place"),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "Choose another path"),
    errno.EISDIR: ("it is a folder", "Name a file"),
    errno.EEXIST: ("something is in the way", "Choose another path"),
    errno.ENOENT: ("No such file or folder", "Check the path"),
    errno.ENOSPC: ("the disk is full", "Make room on the disk, or choose another place"),
    errno.EDQUOT: ("the disk quota is used up", "Make room on the disk, or choose another place"),
    errno.EFBIG: ("the file would be too large", "Make it smaller, or choose another place"),
}
"""By the system's error number: what went wrong in plain words, and what to do."""

KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
LARGEST_TEXT = 256 * 2**20
"""the most bytes of a file that is read whole; what a run or a user writes is far smaller"""
_SIGNATURE_WITHIN = 4096


class FileError(OSError, ValueError):
    """A file cannot be read or written; the message is meant for the user.

    Code that handles errors of the system (`OSError`) or wrong input (`ValueError`) handles it too.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.strerror = reason or message


def problem(error: OSError, path: object, doing: str = "used") -> FileError:
    """Return a `FileError` that explains an error of the system to the user.

    Args:
        error: the error of the system.
        path: the path as the user knows it.
        doing: what was tried, as a participle: read, written.
    """
    known = REASONS.get(error.errno or 0)
    reason, remedy = known or (error.strerror or str(error), "Check the path and the disk")
    return FileError(
        f"{_shown(path)} cannot be {doing} ({reason}); expected a place where it can be. {remedy}.",
        reason,
    )


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return the path with `~` replaced by the home folder; an unknown `~user` stays as it is."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def inside(folder: Path, name: str, what: str) -> Path:
    """Return `folder / name`; raise a `FileError` if the name would lead out of the folder.

    Args:
        folder: where the entry will be.
        name: its name, which may come from a stranger's file.
        what: the thing that has this name, for the message.
    """
    if name in ("", ".", "..") or any(sign in name for sign in ("/", "\\", "\0")):
        raise FileError(
            f"The name {quoted(name)} of {what} would lie outside {folder}; expected a name "
            "without / and \\. Correct it, or say where with --out."
        )
    return folder / name


# Reading


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file, or a link to one, for reading; anything else is a `FileError`."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with _worded(path, "read"):
        _require_regular(path, os.stat(path))  # before opening: that alone can rewind a tape
        descriptor = os.open(path, flags)
        try:
            _require_regular(path, os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
    return io.BufferedReader(io.FileIO(descriptor))


def check_readable(path: Path) -> None:
    """Raise a `FileError` unless the path is a regular file that can be read.

    It is for files that a library will open by itself.
    """
    open_regular(path).close()


def read_bytes(path: Path, largest: int = LARGEST_TEXT) -> bytes:
    """Return the content of a regular file; one of more than `largest` bytes is a `FileError`."""
    with open_regular(path) as stream, _worded(path, "read"):
        content = stream.read(largest + 1)
    if len(content) > largest:
        raise FileError(
            f"{_shown(path)} has more than {largest:,} bytes; expected a smaller file. Check that "
            "it is the right one.",
            f"it has more than {largest:,} bytes",
        )
    return content


def read_text(path: Path, largest: int = LARGEST_TEXT) -> str:
    """Return the text of a regular file; text that is not UTF-8 is a `FileError`."""
    try:
        return read_bytes(path, largest).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{_shown(path)} cannot be read as text ({error.reason} at byte {error.start}); "
            "expected UTF-8. Save it so, or name another file.",
            "it is not UTF-8",
        ) from error


# Writing


def write(path: Path, content: bytes) -> None:
    """Write a file atomically in a folder that towpath owns, replacing a regular file there."""
    _require_replaceable(path)
    with _beside(path, content) as beside:
        os.replace(beside, path)


def check_replaceable(path: Path) -> None:
    """Raise a `FileError` if something else than a regular file is at the path."""
    _require_replaceable(path)


@dataclass(frozen=True)
class Output:
    """A file that a command writes to a path which its user named.

    It replaces only files that towpath wrote, which it recognises by the `signature` at their
    beginning; with `force` it replaces any regular file.
    """

    path: Path
    force: bool = False
    signature: bytes = b""
    """bytes near the beginning of every file of this kind that towpath writes; empty if such files
    cannot be recognised"""
    option: str = "--out"
    """the option that names the path, for messages"""

    def check(self) -> None:
        """Raise a `FileError` if the file cannot be written; call it before the work, not after."""
        found = _require_replaceable(self.path)
        if found is not None and not self.force and not self._is_ours():
            ours = ", or one that is known to be of this command's making" if self.signature else ""
            raise FileError(
                f"{_shown(self.path)} exists; expected a new file{ours}. Choose another "
                f"{self.option}, or replace it with --force."
            )
        folder = self.path.absolute().parent
        while not os.path.lexists(folder):
            folder = folder.parent
        if not folder.is_dir():
            raise problem(OSError(errno.ENOTDIR, ""), self.path, "written")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise problem(OSError(errno.EACCES, ""), self.path, "written")

    def write(self, content: bytes) -> None:
        """Write the file; raise a `FileError` if it may not replace what is there."""
        self.check()
        new = not os.path.lexists(self.path)
        with _beside(self.path, content) as beside:
            if new:
                _put_where_nothing_is(beside, self.path)
            else:
                os.replace(beside, self.path)

    def _is_ours(self) -> bool:
        if not self.signature:
            return False
        with open_regular(self.path) as stream:
            return self.signature in stream.read(_SIGNATURE_WITHIN)


def _put_where_nothing_is(beside: str, path: Path) -> None:
    """Rename, unless somebody has put a file there meanwhile."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.replace(beside, path)


@contextmanager
def _beside(path: Path, content: bytes) -> Iterator[str]:
    """The content on disk under a temporary name in the same folder, which is made if missing."""
    with _worded(path, "written"), new_folder(path.parent):
        descriptor, beside = tempfile.mkstemp(prefix=".", suffix=".partial", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
                stream.flush()
                if hasattr(os, "fchmod"):
                    os.fchmod(stream.fileno(), 0o666 & ~_umask())  # mkstemp's is the user's alone
                os.fsync(stream.fileno())
            yield beside
        finally:
            Path(beside).unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Make the folder and those above it; what was made is removed again if the block fails."""
    made: list[Path] = []
    try:
        with _worded(folder, "made"):
            for each in reversed([folder, *folder.parents]):
                if not _is_folder(each):
                    each.mkdir(exist_ok=True)
                    made.append(each)
        yield
    except BaseException:
        for each in reversed(made):
            with suppress(OSError):  # somebody else uses it by now
                each.rmdir()
        raise


def _is_folder(path: Path) -> bool:
    """Whether a folder is there; anything else in its place is an error, not False."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return True


def _umask() -> int:
    mask = os.umask(0o022)  # can only be read by setting it
    os.umask(mask)
    return mask


# What both need


@contextmanager
def _worded(path: Path, doing: str) -> Iterator[None]:
    """Turn errors of the system into FileErrors about the path that the user knows."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise problem(error, path, doing) from error
    except ValueError as error:  # a NUL byte
        raise FileError(
            f"{_shown(path)} cannot be {doing} ({error}); expected a path. Correct it."
        ) from error


def _require_replaceable(path: Path) -> os.stat_result | None:
    with _worded(path, "written"):
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return None
    if not stat.S_ISREG(found.st_mode):
        raise FileError(
            f"{_shown(path)} is {_kind(found.st_mode)}; expected a new file or one to replace. "
            "Remove it, or choose another path.",
            f"it is {_kind(found.st_mode)}",
        )
    return found


def _require_regular(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise FileError(
            f"{_shown(path)} is {_kind(found.st_mode)}; expected a file. Check the path.",
            f"it is {_kind(found.st_mode)}",
        )


def _kind(mode: int) -> str:
    return next((name for matches, name in KINDS if matches(mode)), "no regular file")


def _shown(path: object) -> str:
    text = str(path)
    return text if len(text) <= 300 and text.isprintable() else quoted(text)
