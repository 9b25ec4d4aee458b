"""Runs that belong together: a comparison's, or those of one recipe."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from towpath.data.registry import is_synthetic
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.comparison import BASELINE
from towpath.runs.comparison_spec import SPEC, ComparisonSpec, RunSpec
from towpath.runs.folder import CONFIG, RECORDS
from towpath.runs.read import RunData, read_run


@dataclass
class Study:
    """Weighters on one recipe, each with its runs (one a seed)."""

    name: str
    title: str
    runs: dict[str, list[RunData]]
    """label -> runs, in the order to show"""
    missing: list[str] = field(default_factory=list)

    @property
    def labels(self) -> list[str]:
        """Weighters in order."""
        return list(self.runs)

    @property
    def recipe(self) -> Recipe | None:
        """A recipe of the study's runs: they differ in weighter and seed only."""
        return next((run.recipe for run in self.all if run.recipe), None)

    @property
    def all(self) -> list[RunData]:
        """Every run."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def baseline(self) -> str:
        """What others are compared with: uniform, or the first."""
        return BASELINE if BASELINE in self.runs else self.labels[0]

    @property
    def synthetic(self) -> bool:
        """Whether the tasks were drawn by the program."""
        return bool(self.recipe and is_synthetic(self.recipe.data.name))

    @property
    def reproduces(self) -> str:
        """What of the paper it reruns."""
        return self.recipe.reproduces if self.recipe else ""

    @property
    def shortened(self) -> bool:
        """Whether it is the small form of its recipe."""
        recipe = self.recipe
        return bool(
            recipe
            and recipe.small
            and recipe.training.steps == recipe.small.get("training.steps", -1)
        )

    @property
    def has_wrong_labels(self) -> bool:
        """Whether some tasks were mislabelled on purpose."""
        return any(run.wrong for run in self.all)

    def colour(self, label: str) -> int:
        """The series' colour, the same in every figure."""
        return self.labels.index(label)

    def seeds(self, label: str) -> list[RunData]:
        """The finished runs of a weighter, or all of them where none is."""
        runs = self.runs[label]
        return [run for run in runs if run.finished] or runs


def read_studies(paths: Sequence[Path]) -> list[Study]:
    """The studies in some folders: comparisons, runs, and folders that hold such."""
    studies: list[Study] = []
    loose: list[RunData] = []
    for path in dict.fromkeys(paths):
        _collect(path, studies, loose, deep=True)
    alike: list[list[RunData]] = []
    for run in loose:
        own = next((runs for runs in alike if same_setting(run.recipe, runs[0].recipe)), None)
        if own is None:
            alike.append([run])
        else:
            own.append(run)
    for runs in alike:
        name = runs[0].recipe.name if runs[0].recipe else runs[0].name
        studies.append(Study(name, name, _labelled(runs)))
    used: set[str] = set()
    for study in studies:
        base = re.sub(r"[^a-z0-9]+", "-", study.name.lower()).strip("-") or "study"
        study.name = next(
            n
            for i in range(len(studies) + 1)
            if (n := base if not i else f"{base}-{i + 1}") not in used
        )
        used.add(study.name)
    return studies


def same_setting(one: Recipe | None, other: Recipe | None) -> bool:
    """Whether runs of the two differ in weighter and seed only, so that they may be compared."""

    def setting(recipe: Recipe) -> dict[str, object]:
        aside = ("weighter", "seed", "threads", "device", "compare", "small", "about")
        return {k: v for k, v in recipe.as_mapping().items() if k not in aside}

    return one is not None and other is not None and setting(one) == setting(other)


def _collect(path: Path, studies: list[Study], loose: list[RunData], deep: bool) -> None:
    if not path.is_dir():
        raise RecipeError(
            f"{path} is not a folder; expected a run that `towpath train` or a comparison that "
            "`towpath compare` made. Check the path."
        )
    if (path / SPEC).is_file():
        studies.append(_comparison(path))
        return
    children = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    inside = [p for p in children if (p / CONFIG).is_file() or (p / SPEC).is_file()]
    if (path / CONFIG).is_file() or (path / RECORDS).is_file() or not any(path.iterdir()):
        loose.append(read_run(path))
    elif inside and deep:
        for child in inside:
            _collect(child, studies, loose, deep=False)
    else:
        raise RecipeError(
            f"{path} holds neither {CONFIG} nor {SPEC}; expected a run that `towpath train` or a "
            "comparison that `towpath compare` made. Check the path."
        )


def _comparison(path: Path) -> Study:
    """What was asked for, run or not."""
    title = path.resolve().name
    try:
        spec = ComparisonSpec.read(path)
    except ValueError as error:
        found = sorted(p for p in path.iterdir() if (p / CONFIG).is_file())
        study = Study(title, title, _labelled([read_run(p) for p in found]) or {"none": []})
        study.missing.append(f"What was asked for cannot be read: {' '.join(str(error).split())}")
        return study
    study = Study(spec.recipe.name, spec.recipe.name, {label: [] for label in spec.labels})
    for run in spec.runs():
        if not run.folder.path.is_dir():
            study.missing.append(f"{run.name}: not begun.")
        elif foreign := _foreign(spec, run):
            study.missing.append(foreign)
        else:
            study.runs[run.contestant.label].append(read_run(run.folder.path))
    return study


def _foreign(spec: ComparisonSpec, run: RunSpec) -> str:
    """Why a folder of a comparison is not the run that its name says; else empty."""
    if not (run.folder.path / CONFIG).is_file():
        return ""  # nothing is known of it, which is said of the run itself
    try:
        spec.check_place(run)
    except ValueError as error:
        return f"Not shown: {' '.join(str(error).split())}"
    return ""


def _labelled(runs: Sequence[RunData]) -> dict[str, list[RunData]]:
    """By weighter; by folder where a weighter and seed came twice."""
    keys = [(run.weighter, run.seed) for run in runs]
    labelled: dict[str, list[RunData]] = {}
    for run, key in zip(runs, keys, strict=True):
        label = run.weighter if keys.count(key) == 1 else run.name
        labelled.setdefault(label, []).append(run)
    first = [BASELINE] if BASELINE in labelled else []
    return {label: labelled[label] for label in [*first, *(k for k in labelled if k not in first)]}
