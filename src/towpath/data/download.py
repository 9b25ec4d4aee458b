"""Download files from mirrors, with retries and checksums.

pooch fetches and checks one file; it neither resumes a download nor tries mirrors. A file is
downloaded into a folder `.downloading` beside its place and moved only after its checksum was found
right, so an interrupted download is never taken for the file, and the next call starts afresh.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pooch
import requests

from towpath.data.errors import DataError, DownloadError
from towpath.files import check_replaceable, open_regular

# Our own messages report what pooch would log to stderr.
pooch.get_logger().setLevel("WARNING")

_PARTIAL = ".downloading"
_FINAL_STATUS = range(400, 500)  # asking again will not help: go on to the next mirror


class Progress(Protocol):
    """The methods of a progress bar that pooch calls."""

    total: int

    def update(self, amount: int) -> None:
        """Add the bytes that have arrived since the last call."""

    def reset(self) -> None:
        """Start again from zero bytes, as pooch does before it shows the file as complete."""

    def close(self) -> None:
        """End the display: the file is complete, or the attempt has failed."""


@dataclass(frozen=True)
class RemoteFile:
    """A file to download: its name, checksum (`md5:...` or `sha256:...`) and URLs, best first."""

    name: str
    checksum: str
    urls: tuple[str, ...]


@dataclass(frozen=True)
class Fetched:
    """A file after `fetch`: its path, whether it was there before, and if it is the official one.

    A file that was there before may be official or not, by its checksum.
    """

    path: Path
    was_there: bool
    official: bool


def matches(path: Path, checksum: str) -> bool:
    """Return whether the file has this checksum, written `md5:...` or `sha256:...`."""
    algorithm, _, expected = checksum.partition(":")
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest() == expected.lower()


def fetch(
    file: RemoteFile,
    folder: Path,
    *,
    manual: str,
    progress: Callable[[str], Progress] | None = None,
    retries: int = 3,
    wait: float = 1.0,
    timeout: float = 30.0,
) -> Fetched:
    """Download the file into `folder`, unless it is there; an existing file is never overwritten.

    Args:
        file: what to download, and from where.
        folder: where the file will be; made if it is missing.
        manual: how to get the file by hand, for the message if no mirror delivers it.
        progress: makes a progress bar for a file's name; None shows no progress.
        retries: attempts at each mirror.
        wait: seconds before the second attempt, doubled before each further one.
        timeout: seconds to wait for an answer of the server.
    """
    target = folder / file.name
    if os.path.lexists(target):
        return Fetched(target, was_there=True, official=matches(target, file.checksum))
    partial = folder / _PARTIAL
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{file.name} cannot be saved to {folder} ({error.strerror or error}); expected a "
            "writable folder. Name one with --data-root or TOWPATH_DATA."
        ) from error
    failures: list[str] = []
    try:
        for url in file.urls:
            failure = _try_mirror(url, file, partial, progress, retries, wait, timeout)
            if failure is None:
                check_replaceable(target)
                os.replace(partial / file.name, target)
                return Fetched(target, was_there=False, official=True)
            failures.append(f"{url}: {failure}")
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    raise DownloadError(
        f"{file.name} could not be downloaded ({'; '.join(failures)}); expected one of "
        f"{len(file.urls)} addresses to deliver it. {manual}"
    )


def _try_mirror(
    url: str,
    file: RemoteFile,
    partial: Path,
    progress: Callable[[str], Progress] | None,
    retries: int,
    wait: float,
    timeout: float,
) -> str | None:
    """None once the file is in `partial` with the right checksum, else what went wrong last."""
    failure = "not tried"
    for attempt in range(retries):
        if attempt:
            time.sleep(wait * 2 ** (attempt - 1))
        bar = None if progress is None else progress(file.name)
        downloader = pooch.HTTPDownloader(progressbar=bar or False, timeout=timeout)
        try:
            pooch.retrieve(
                url,
                known_hash=file.checksum,
                fname=file.name,
                path=partial,
                downloader=downloader,
            )
        except requests.HTTPError as error:
            status = 0 if error.response is None else error.response.status_code
            failure = f"the server answered {status}"
            if status in _FINAL_STATUS:
                return failure
        except requests.Timeout:
            failure = f"no answer within {timeout:g} s"
        except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError):
            failure = "the connection broke off before the file was complete"
        except requests.ConnectionError as error:
            failure = _reason(error)
        except requests.RequestException as error:
            return f"{type(error).__name__}"
        except ValueError as error:
            if "hash" not in str(error):
                raise
            failure = "what arrived has another checksum than the official file"
        else:
            return None
        finally:
            if bar is not None:
                bar.close()
    return failure


def _reason(error: requests.ConnectionError) -> str:
    text = str(error)
    if "refused" in text:
        return "connection refused"
    if "resolve" in text or "Name or service" in text or "getaddrinfo" in text:
        return "the name of the server cannot be resolved (is the network closed?)"
    if "IncompleteRead" in text or "aborted" in text or "reset" in text:
        return "the connection broke off before the file was complete"
    return "no connection (is the network closed?)"
