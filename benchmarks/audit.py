"""How well `towpath audit` finds the classes of a folder whose images are in the wrong place.

Folders are built from real Omniglot and from CUB. In two of five training classes the images are
dealt anew among those classes, so that what lies in such a folder does not belong together. Trusted
tasks come from other classes, which are right. After 400 steps the audit ranks the training
classes, and the area under the ROC curve tells how often a scrambled class stands before a clean
one, by the weights of `tow-targets` and `mixture`, and by the losses of each.

    python -m benchmarks.audit [omniglot] [cub] [--work FOLDER]
"""

import argparse
import json
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import write
from towpath.data.cub import find_source
from towpath.data.locations import data_root
from towpath.data.omniglot import find_part
from towpath.metrics import area_under_curve
from towpath.recipes.reading import read_recipe
from towpath.reports.audit import LOSSES, WEIGHTS, Signal, audit
from towpath.runs.folder import RunFolder
from towpath.training import train
from towpath.training.reporter import SilentReporter

SCRAMBLED = 0.4
SPLITS = ("train", "checked", "validation", "test")
WEIGHTERS = ("tow-targets", "mixture", "uniform")
STEPS, TARGET = 400, 0.8


@dataclass(frozen=True)
class Source:
    """A real data set, how its classes are dealt, and what the tasks look like."""

    archive: Path
    parts: Mapping[str, int]
    """number of alphabets (or of classes, where there are none) of each part of the folder"""
    has_groups: bool
    overrides: Mapping[str, str]


def sources() -> dict[str, Source]:
    """Return the sets that are in the data folder."""
    root = data_root(None)
    found: dict[str, Source] = {}
    omniglot, cub = find_part(root, "background"), find_source(root)
    if omniglot is not None and omniglot.suffix == ".zip":
        found["omniglot"] = Source(
            omniglot,
            {"train": 22, "checked": 4, "validation": 2, "test": 2},
            True,
            {"data.image_size": "28", "data.channels": "1", "episodes.within_group": "true"},
        )
    if cub is not None and cub.suffix == ".zip":
        found["cub"] = Source(
            cub,
            {"train": 34, "checked": 6, "validation": 5, "test": 5},
            False,
            {
                "data.image_size": "28",
                "data.channels": "3",
                "episodes.shots": "5",
                "training.meta_batch_size": "5",
            },
        )
    return found


def build(source: Source, out: Path, seed: int) -> set[str]:
    """Write the folders of one experiment; return the names of the scrambled training classes.

    Args:
        source: the real data set.
        out: where to; the folder `images` has the splits, `checked` the classes that are right.
        seed: decides which classes go where and which are scrambled.
    """
    generator = np.random.default_rng(seed)
    with zipfile.ZipFile(source.archive) as archive:
        classes: dict[str, list[str]] = {}
        for name in sorted(archive.namelist()):
            if name.endswith((".png", ".jpg")):
                depth = 3 if source.has_groups else 2
                classes.setdefault("/".join(name.split("/")[-depth:-1]), []).append(name)
        part_of = _dealt(list(classes), source, generator)
        own = [name for name in classes if part_of[name] == "train"]
        chosen = generator.permutation(len(own))[: round(SCRAMBLED * len(own))]
        scrambled = [own[i] for i in sorted(chosen)]
        files = [file for name in scrambled for file in classes[name]]
        dealt = iter([files[i] for i in generator.permutation(len(files))])
        for name in scrambled:
            classes[name] = [next(dealt) for _ in classes[name]]
        for name, own_files in classes.items():
            part = part_of[name]
            folder = out / ("checked" if part == "checked" else f"images/{part}") / name
            folder.mkdir(parents=True, exist_ok=True)
            for i, file in enumerate(own_files):
                (folder / f"{i:03}{Path(file).suffix}").write_bytes(archive.read(file))
    return set(scrambled)


def _dealt(
    classes: Iterable[str], source: Source, generator: np.random.Generator
) -> dict[str, str]:
    """Return the part that each class belongs to; the classes of an alphabet stay together."""
    unit = {name: name.split("/")[0] for name in classes}
    units = sorted(set(unit.values()))
    order = [units[i] for i in generator.permutation(len(units))]
    parts = [part for part in SPLITS for _ in range(source.parts[part])]
    part_of = dict(zip(order, parts, strict=True))
    return {name: part_of[unit[name]] for name in unit}


def trained(source: Source, folder: Path, weighter: str, seed: int, steps: int) -> RunFolder:
    """Train on a folder, unless that run is there already."""
    path = folder / weighter
    overrides = {
        "data.name": str(folder / "images"),
        "episodes.ways": "5",
        "episodes.query": "5",
        "trusted.data": str(folder / "checked"),
        "trusted.count": "20",
        "training.steps": str(steps),
        "validation.every": "0",
        "test.tasks": "50",
        "backbone.filters": "16",
        "threads": "1",
        "weighter.name": weighter,
        "seed": str(seed),
        **source.overrides,
    }
    if RunFolder(path).summary() is None:
        train(path, read_recipe("your-own-data", list(overrides.items())), SilentReporter())
    return RunFolder.open(path)


@dataclass(frozen=True)
class Found:
    """How well an audit orders the classes."""

    by: str
    area: float
    suspects: int
    """classes whose whole interval is on the suspect side"""
    right: int
    """how many of them were scrambled"""

    def __str__(self) -> str:
        right = f"{self.right} of {self.suspects} suspects are scrambled"
        return f"{self.area:.3f} by {self.by} ({right})"


def judged_by(run: RunFolder, signal: Signal | None, scrambled: set[str]) -> Found:
    """Return how well an audit orders the classes.

    Args:
        run: a finished run.
        signal: weights or losses; None for what the audit chooses itself.
        scrambled: names of the classes that should come first.
    """
    result = audit(run.records(), by=signal)
    assert result is not None
    bad = [effect.name in scrambled for effect in result.classes]
    order = [result.class_signal.suspicion(effect.value) for effect in result.classes]
    suspects = [effect.name in scrambled for effect in result.suspects()]
    area = area_under_curve(order, bad)
    return Found(result.class_signal.name, area, len(suspects), sum(suspects))


def main() -> None:
    """Build, train and audit; print the areas under the curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="audit, then omniglot or cub (default: both)")
    parser.add_argument("--work", type=Path, help="folder to keep data and runs in")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    wanted = [name for name in arguments.names if name != "audit"]
    found = sources()
    if not found:
        print(f"neither Omniglot nor CUB, as zip files, is in {data_root(None)}")
    with tempfile.TemporaryDirectory() as place:
        for name, source in found.items():
            if not wanted or name in wanted:
                folder = (arguments.work or Path(place)) / f"{name}-{arguments.seed}"
                measure(name, source, folder, arguments.seed, arguments.steps)


def measure(name: str, source: Source, folder: Path, seed: int, steps: int) -> None:
    """Audit one set under every weighter.

    Args:
        name: name of the set.
        source: the real data set.
        folder: where the folders of images and the runs are, or are put.
        seed: of the folders and the runs.
        steps: number of training steps.
    """
    listing = folder / "scrambled.json"
    if not listing.exists():
        scrambled = build(source, folder, seed)
        listing.write_text(json.dumps(sorted(scrambled)))
    scrambled = set(json.loads(listing.read_text()))
    print(f"\n== {name}: area under the curve for {len(scrambled)} scrambled classes, seed {seed}")
    rows = {}
    for weighter in WEIGHTERS:
        run = trained(source, folder, weighter, seed, steps)
        for said, signal in (("audit", None), ("weights", WEIGHTS), ("losses", LOSSES)):
            found = judged_by(run, signal, scrambled)
            mark = "" if found.area >= TARGET else "  BELOW THE TARGET"
            print(f"  {weighter:<12} {said:<8} {found}{mark}")
            rows[f"{weighter} {said}"] = asdict(found)
    write(f"audit-{name}", {"scrambled": len(scrambled), "steps": steps, "seed": seed, **rows})


if __name__ == "__main__":
    main()
