"""Zip and tar archives from strangers: every member is checked before a byte of it is used.

Refused are absolute paths, `..`, drive letters, links, devices, more members or bytes than the
limits, and members that unpack to more than they declare. Zip, tar, tar.gz, tar.bz2 and tar.xz are
recognised by their content, not by their name.
"""

import errno
import lzma
import os
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from towpath.data.errors import DataError

ARCHIVE_SUFFIXES = (".zip", ".tgz", ".tar.gz", ".tar", ".tar.bz2", ".tar.xz")
_BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    ValueError,
    OverflowError,
)


@dataclass(frozen=True)
class Limits:
    """The most that an archive may unpack to before it is refused.

    Full mini-ImageNet, for comparison, has 60,003 members and about 0.2 GB.
    """

    members: int = 500_000
    total_bytes: int = 16 * 2**30
    member_bytes: int = 2**30
    ratio: int = 200  # unpacked over packed; applies from `ratio_from` unpacked bytes on
    ratio_from: int = 64 * 2**20


@dataclass(frozen=True)
class Member:
    """One regular file of an archive: its safe relative path and its declared size."""

    name: str
    size: int


def is_archive_name(name: str) -> bool:
    """Return whether the file name ends like that of an archive that can be read."""
    return name.lower().endswith(ARCHIVE_SUFFIXES)


def safe_name(name: str, archive: Path) -> str:
    """Return the member's relative path; a path that leads out of the folder is a `DataError`."""
    plain = name.replace("\\", "/")
    parts = [part for part in PurePosixPath(plain).parts if part != "."]
    outside = plain.startswith("/") or ".." in parts or any(":" in part for part in parts[:1])
    if outside or not parts or "\0" in name:
        raise DataError(
            f"{archive.name} has a member named {name!r}, which lies outside the folder it would "
            "be unpacked to; expected relative paths only. Do not use this archive; get it again "
            "from its official source."
        )
    return "/".join(parts)


def _check_totals(archive: Path, count: int, total: int, largest: int, limits: Limits) -> None:
    packed = max(archive.stat().st_size, 1)
    problem = ""
    if count > limits.members:
        problem = f"{count:,} members; expected at most {limits.members:,}"
    elif largest > limits.member_bytes:
        problem = f"a member of {largest:,} bytes; expected at most {limits.member_bytes:,}"
    elif total > limits.total_bytes:
        problem = f"{total:,} bytes unpacked; expected at most {limits.total_bytes:,}"
    elif total > limits.ratio_from and total > limits.ratio * packed:
        problem = (
            f"{total:,} bytes unpacked from {packed:,}; expected at most {limits.ratio} times as "
            "many"
        )
    if problem:
        raise DataError(
            f"{archive.name} holds {problem}. It looks like an archive made to fill the disk; get "
            "it again from its official source, or unpack it yourself and pass the folder."
        )


def _refuse_kind(archive: Path, name: str, kind: str) -> DataError:
    return DataError(
        f"{archive.name} has a member {name!r} that is {kind}; expected files and folders only. "
        "Get the archive again from its official source, or unpack it yourself and pass the folder."
    )


class CheckedZip:
    """A zip file whose members are all checked when it is opened, and read without unpacking."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self._zip = zipfile.ZipFile(path)
        try:
            self._members = self._check(limits)
        except BaseException:
            self._zip.close()
            raise

    def _check(self, limits: Limits) -> dict[str, zipfile.ZipInfo]:
        found: dict[str, zipfile.ZipInfo] = {}
        total = largest = 0
        infos = self._zip.infolist()
        for info in infos:
            name = safe_name(info.filename, self.path)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                linked = "a link" if kind == stat.S_IFLNK else "a device"
                raise _refuse_kind(self.path, info.filename, linked)
            if info.flag_bits & 0x1:
                raise _refuse_kind(self.path, info.filename, "encrypted")
            if info.is_dir():
                continue
            if name in found:
                raise _refuse_kind(self.path, info.filename, "there twice")
            found[name] = info
            total += info.file_size
            largest = max(largest, info.file_size)
        _check_totals(self.path, len(infos), total, largest, limits)
        return found

    def members(self) -> list[Member]:
        """List the files of the archive; its folders are not among them."""
        return [Member(name, info.file_size) for name, info in self._members.items()]

    def read(self, name: str) -> bytes:
        """Return the bytes of one member, which must be exactly as many as it declares."""
        info = self._members[name]
        with _broken_archive(self.path), self._zip.open(info) as stream:
            return _read_declared(stream, info.file_size, self.path, name)

    def close(self) -> None:
        """Close the zip file, after which no member can be read."""
        self._zip.close()


def _read_declared(stream: IO[bytes], size: int, archive: Path, name: str) -> bytes:
    content = stream.read(size + 1)
    if len(content) != size:
        raise DataError(
            f"{archive.name} declares {size:,} bytes for {name!r} and unpacks to "
            f"{'more' if len(content) > size else f'{len(content):,}'}; expected the declared "
            "size. The archive is damaged or hostile: get it again."
        )
    return content


@contextmanager
def _broken_archive(path: Path) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except (*_BROKEN, OSError) as error:
        # gzip and bz2 report damage without a number, a zip that points nowhere as a bad seek;
        # any other number is the disk's.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise DataError(
            f"{path.name} cannot be read as an archive ({error or type(error).__name__}); expected "
            "a complete zip or tar file. Download or copy it again."
        ) from error


def open_zip(path: Path, limits: Limits | None = None) -> CheckedZip:
    """Open a zip file and check it; a damaged or hostile one raises a `DataError`."""
    with _broken_archive(path):
        return CheckedZip(path, limits or Limits())


def unpack(path: Path, folder: Path, limits: Limits | None = None) -> None:
    """Unpack a zip or tar file into a new `folder`; nothing is left behind on failure."""
    limits = limits or Limits()
    if folder.exists():
        raise DataError(
            f"{folder} exists already; expected a new folder to unpack {path.name} to. Remove it "
            "or choose another."
        )
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    beside.mkdir(parents=True)
    try:
        with _broken_archive(path):
            if zipfile.is_zipfile(path):
                _unpack_zip(path, beside, limits)
            elif tarfile.is_tarfile(path):
                _unpack_tar(path, beside, limits)
            else:
                raise DataError(
                    f"{path.name} is neither a zip nor a tar file; expected one of "
                    f"{', '.join(ARCHIVE_SUFFIXES)}. Download or copy it again."
                )
        beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _unpack_zip(path: Path, folder: Path, limits: Limits) -> None:
    archive = CheckedZip(path, limits)
    try:
        for member in archive.members():
            _write(folder / member.name, archive.read(member.name))
    finally:
        archive.close()


def _unpack_tar(path: Path, folder: Path, limits: Limits) -> None:
    # A compressed tar has no directory to check beforehand, so totals are checked as they grow.
    count = total = 0
    with tarfile.open(path) as archive:
        for info in archive:
            name = safe_name(info.name, path) if info.name.strip("./") else "."
            count += 1
            total += info.size
            _check_totals(path, count, total, info.size, limits)
            if info.isdir():
                continue
            if not info.isreg():
                kind = "a link" if info.issym() or info.islnk() else "a device"
                raise _refuse_kind(path, info.name, kind)
            stream = archive.extractfile(info)
            assert stream is not None  # only for members that are not regular files
            _write(folder / name, _read_declared(stream, info.size, path, info.name))


def _write(target: Path, content: bytes) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as stream:
            stream.write(content)
    except (FileExistsError, NotADirectoryError) as error:
        raise DataError(
            f"The archive has two members for {target.name!r}; expected each path once (on this "
            "file system upper and lower case may be the same). Unpack it yourself."
        ) from error
