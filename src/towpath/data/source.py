"""A source is a tree of files to decode: a folder, or an archive read in place.

Its key is a digest of names and contents, so a cache made from it is valid wherever the same files
are. Hashing reads every byte once; the digest is then stored in the cache folder under the sizes
and times of all files, and not computed again while these stay as they are.
"""

import hashlib
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from towpath.data.archive import CheckedZip, open_zip, unpack
from towpath.data.errors import DataError
from towpath.data.locations import cache_root
from towpath.files import FileError, open_regular, read_bytes, read_text, write

# A file changed within the clock's granularity of its hashing could change again unnoticed.
_SETTLED_SECONDS = 2.0
LARGEST_IMAGE = 2**30
"""bytes of one file of a source, as of one member of an archive"""
_IGNORED = ("__MACOSX", "Thumbs.db", "desktop.ini")


class Source:
    """The files of a folder or archive, named by their path below it, with `/`.

    Hidden files and those that operating systems leave in folders are not among them.
    """

    def __init__(self, path: Path, names: list[str], reader: Callable[[str], bytes]) -> None:
        self.path = path
        self.names = sorted(name for name in names if not _hidden(name))
        self._reader = reader

    def read(self, name: str) -> bytes:
        """Return the bytes of one of the files in `names`."""
        try:
            return self._reader(name)
        except OSError as error:
            raise DataError(
                f"{name!r} in {self.path} cannot be read ({error.strerror or error}); expected a "
                "readable file. Check its permissions or copy it again."
            ) from error

    def empty_folders(self) -> list[str]:
        """List the folders without any file below them; archives do not tell, and give none."""
        if not self.path.is_dir():
            return []
        filled = {parent for name in self.names for parent in _parents(name)}
        return sorted(
            name for name in _walk(self.path)[1] if name not in filled and not _hidden(name)
        )


def _hidden(name: str) -> bool:
    return any(part.startswith(".") or part in _IGNORED for part in name.split("/"))


def _parents(name: str) -> list[str]:
    parts = name.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]


def _walk(root: Path) -> tuple[list[str], list[str]]:
    """Files and folders below `root`, links followed, each real folder once."""
    files: list[str] = []
    folders: list[str] = []
    seen: set[tuple[int, int]] = set()
    stack = [("", str(root))]
    while stack:
        prefix, folder = stack.pop()
        status = os.stat(folder)
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as entries:
            for entry in entries:
                name = prefix + entry.name
                if entry.is_dir():
                    folders.append(name)
                    stack.append((f"{name}/", entry.path))
                elif entry.is_file():
                    files.append(name)
    return files, folders


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except FileError as error:
        raise DataError(str(error)) from error
    except OSError as error:
        raise DataError(
            f"{error.filename or path} cannot be read ({error.strerror or error}); expected a "
            "readable folder or archive. Check the spelling and the permissions."
        ) from error


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open the folder or archive at `path`; a tar is unpacked into the cache folder meanwhile."""
    if path.is_dir():
        with _readable(path):
            names = _walk(path)[0]
        yield Source(path, names, lambda name: read_bytes(path / name, LARGEST_IMAGE))
    elif not path.is_file():
        raise DataError(
            f"{path} is not there; expected a folder or an archive. Check the spelling, or name "
            "the data folder with --data-root or TOWPATH_DATA."
        )
    elif zipfile.is_zipfile(path):
        archive: CheckedZip = open_zip(path)
        try:
            yield Source(path, [member.name for member in archive.members()], archive.read)
        finally:
            archive.close()
    else:
        cache_root().mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".unpacked-", dir=cache_root()))
        try:
            folder = beside / "files"
            unpack(path, folder)
            yield Source(
                path, _walk(folder)[0], lambda name: read_bytes(folder / name, LARGEST_IMAGE)
            )
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def content_key(path: Path) -> str:
    """Return a digest of the source's content, stored until the size or time of a file changes."""
    with _readable(path):
        return _content_key(path)


def _content_key(path: Path) -> str:
    names = [name for name in _walk(path)[0] if not _hidden(name)] if path.is_dir() else [""]
    names.sort()
    files = [path / name if name else path for name in names]
    newest = 0.0
    seen = hashlib.sha256(os.fsencode(path.resolve()))
    for name, file in zip(names, files, strict=True):
        status = os.stat(file)
        newest = max(newest, status.st_mtime, status.st_ctime)
        times = f"\0{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}\0"
        seen.update(os.fsencode(name) + times.encode())
    memo = cache_root() / "fingerprints" / seen.hexdigest()
    try:
        remembered = read_text(memo)
    except FileError:
        remembered = ""
    if len(remembered) == 64:
        return remembered
    key = _digest(names, files)
    if time.time() - newest > _SETTLED_SECONDS:
        with suppress(OSError):  # a memo only; an unwritable cache is reported where it is needed
            write(memo, key.encode())
    return key


def _digest(names: list[str], files: list[Path]) -> str:
    total = hashlib.sha256()
    for name, file in zip(names, files, strict=True):
        with open_regular(file) as stream:
            content = hashlib.file_digest(stream, "sha256").digest()
        total.update(os.fsencode(name) + b"\0" + content)
    return total.hexdigest()
