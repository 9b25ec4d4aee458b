"""Check that a set is complete by its counts; a checksum is reported, but decides nothing.

A zip that was packed again has the same images under another checksum, so a checksum that is not
the official one is no error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from towpath.data import cub, mini_imagenet, omniglot
from towpath.data.build import Reading, cache_key, split_pool
from towpath.data.cache import StoredSet, discard_if_damaged
from towpath.data.download import matches
from towpath.data.errors import DataError
from towpath.data.glyphs import glyph_set
from towpath.data.locations import data_root
from towpath.data.own_folder import load_folder
from towpath.data.pool import SPLITS
from towpath.data.registry import SETS, is_own_folder, is_own_table, load, present
from towpath.data.tables import assays
from towpath.data.tables.loading import load_table

OMNIGLOT_COUNTS = {"background": (30, 964, 20), "evaluation": (20, 659, 20)}
MINI_IMAGENET_CLASSES = {"train": 64, "validation": 16, "test": 20}
CUB_COUNTS = {(200, 11_788): "the full set", (50, 2_953): "the 50 novel classes of the test"}
GLYPHS_LEAST = (500, 14, 20)


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


def verify(name: str, root: str | Path | None = None) -> Report:
    """Load every split of a set, or of a folder of your own, and compare its counts.

    Args:
        name: a name in `SETS`, or the path of a folder, archive or table of your own.
        root: the data folder that has the set; by default the one of `data_root`.
    """
    if is_own_table(name) or is_own_folder(name):
        pool = load_table(name, "all") if is_own_table(name) else load_folder(name, "all")
        return Report(name, (pool.describe(), *pool.notes))
    folder = data_root(root)
    if not present(name, folder):
        # The error of the loader says what is missing and how to get it.
        SETS[name].load(root=folder, split="test")
    checks: dict[str, Callable[[Path], Report]] = {
        "glyphs": _verify_glyphs,
        "omniglot": _verify_omniglot,
        "mini-imagenet": _verify_mini_imagenet,
        "cub": _verify_cub,
        "toxcast": partial(_verify_assays, "toxcast"),
        "chembl": partial(_verify_assays, "chembl"),
    }
    return checks[name](folder)


def _checksum_line(name: str, path: Path) -> list[str]:
    official = {file.name: file.checksum for file in SETS[name].files}
    if path.name not in official:
        return []
    if matches(path, official[path.name]):
        return [f"{path.name}: the official checksum"]
    return [
        f"{path.name}: not the official checksum (packed again?); the counts decide, not the "
        "packing"
    ]


def _repaired(path: Path, reading: Reading) -> list[str]:
    if discard_if_damaged(reading.name, cache_key(path, reading)):
        return [f"the decoded copy of {path.name} was damaged; it was decoded again"]
    return []


def _each(whole: StoredSet, split: str | None = None) -> tuple[int, str]:
    """Number of classes, and images a class in words."""
    counts = [c.count for c in whole.classes if split in (None, c.split)]
    low, high = min(counts, default=0), max(counts, default=0)
    return len(counts), f"{low}" if low == high else f"{low} to {high}"


def _verify_glyphs(_root: Path) -> Report:
    whole = glyph_set()
    scripts = len({entry.group for entry in whole.classes})
    classes, each = _each(whole)
    line = f"glyphs (synthetic): {classes} characters in {scripts} scripts, {each} drawings each"
    least = GLYPHS_LEAST
    good = classes >= least[0] and scripts >= least[1] and each == str(least[2])
    problem = f"{line}; expected at least {least[0]} in {least[1]}, {least[2]} each"
    return Report("glyphs", (line,), () if good else (problem,))


def _verify_omniglot(root: Path) -> Report:
    lines: list[str] = []
    problems: list[str] = []
    for part, expected in OMNIGLOT_COUNTS.items():
        path = omniglot.find_part(root, part)
        if path is None:
            problems.append(f"{omniglot.PARTS[part]} is not in {root}")
            continue
        lines += _repaired(path, omniglot.reading(part, 28))
        whole = omniglot.load_part(path, part)
        alphabets = len({entry.group for entry in whole.classes})
        classes, each = _each(whole)
        lines.append(f"{part}: {classes} characters in {alphabets} alphabets, {each} images each")
        lines += _checksum_line("omniglot", path)
        if (alphabets, classes, each) != (expected[0], expected[1], str(expected[2])):
            problems.append(
                f"{part} has {classes} characters in {alphabets} alphabets, {each} images each; "
                f"expected {expected[1]} in {expected[0]}, {expected[2]} each"
            )
    return Report("omniglot", tuple(lines), tuple(problems))


def _verify_mini_imagenet(root: Path) -> Report:
    path = mini_imagenet.find_source(root)
    assert path is not None  # `verify` has seen that the set is present
    lines = _repaired(path, mini_imagenet.reading(84))
    whole = mini_imagenet.load_all(path)
    problems: list[str] = []
    for split, expected in MINI_IMAGENET_CLASSES.items():
        classes, each = _each(whole, split)
        lines.append(f"{split}: {classes} classes, {each} images each")
        if classes != expected:
            problems.append(f"{split} has {classes} classes; expected {expected}")
    return Report("mini-imagenet", (*lines, *whole.notes), tuple(problems))


def _verify_cub(root: Path) -> Report:
    path = cub.find_source(root)
    assert path is not None  # `verify` has seen that the set is present
    lines = _repaired(path, cub.reading(84))
    whole = cub.load_all(path)
    found = (len(whole.classes), sum(entry.count for entry in whole.classes))
    lines.append(f"{found[0]} classes with {found[1]:,} images: {CUB_COUNTS.get(found, 'neither')}")
    for split in SPLITS:
        if any(entry.split == split for entry in whole.classes):
            lines.append(split_pool("cub", whole, split).describe())
    lines += _checksum_line("cub", path)
    if found in CUB_COUNTS:
        return Report("cub", tuple(lines))
    problem = (
        f"cub has {found[0]} classes with {found[1]:,} images; expected 200 with 11,788, or the "
        "50 novel ones with 2,953"
    )
    return Report("cub", tuple(lines), (problem,))


def _verify_assays(name: str, root: Path) -> Report:
    path = assays.find_assays(name, root)
    assert path is not None  # `verify` has seen that the set is present
    found, expected = assays.counted(path), assays.COUNTS[name]
    lines = [str(found), f"{found.filled:,} assays with at least one label"]
    if matches(path, assays.CHECKSUMS[name]):
        lines.append(f"{path.name}: the known checksum")
    else:
        lines.append(f"{path.name}: not the known checksum; the counts decide, not the packing")
    problems = () if found == expected else (f"{name} has {found}; expected {expected}",)
    if not problems:
        pool = load(name, root, "all")
        lines += [pool.describe(), *pool.notes]
        for split in SETS[name].splits:
            lines.append(load(name, root, split).describe())
    return Report(name, tuple(lines), problems)


def require(report: Report) -> None:
    """Raise a `DataError` with the problems of the report, if it has any."""
    if report.problems:
        raise DataError(
            f"{report.name}: {'; '.join(report.problems)}. Some files are missing or too many: "
            f"copy the set again. {SETS[report.name].manual}"
        )
