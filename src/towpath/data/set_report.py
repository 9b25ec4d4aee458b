"""What was found in a data set, and pieces of such reports that several sets share.

The counts decide whether a set is complete. A zip that was packed again has the same images under
another checksum, so a checksum that is not the official one is told, and is no error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from towpath.data.build import Reading, cache_key
from towpath.data.cache import StoredClass, discard_if_damaged
from towpath.data.download import RemoteFile, matches


@dataclass(frozen=True)
class Report:
    """What was found in a set, in lines for people; `problems` is empty if the set is complete."""

    name: str
    lines: tuple[str, ...]
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the set has the number of classes and images that it should have."""
        return not self.problems


def checksum_lines(files: Sequence[RemoteFile], path: Path) -> list[str]:
    """Return a line on whether a file is one that can be downloaded; none for a folder.

    Args:
        files: what can be downloaded of the set.
        path: the file or folder that was found.
    """
    official = {file.name: file.checksum for file in files}
    if path.name not in official:
        return []
    if matches(path, official[path.name]):
        return [f"{path.name}: the official checksum"]
    return [
        f"{path.name}: not the official checksum (packed again?); the counts decide, not the "
        "packing"
    ]


def repair_lines(path: Path, reading: Reading) -> list[str]:
    """Discard the decoded copy of a source if it is damaged, and return a line that says so.

    Args:
        path: the source, a file or a folder.
        reading: how it is decoded.
    """
    if discard_if_damaged(reading.name, cache_key(path, reading)):
        return [f"the decoded copy of {path.name} was damaged; it was decoded again"]
    return []


def classes_and_images(stored: Sequence[StoredClass], split: str | None = None) -> tuple[int, str]:
    """Return the number of classes, and in words the number of images of a class.

    Args:
        stored: the classes of the set.
        split: the split to count; None for all of them.
    """
    counts = [c.count for c in stored if split in (None, c.split)]
    low, high = min(counts, default=0), max(counts, default=0)
    return len(counts), f"{low}" if low == high else f"{low} to {high}"
