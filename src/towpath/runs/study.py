"""Studies: runs that belong together, as those of a comparison or of one recipe do."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from towpath.data.registry import is_synthetic
from towpath.recipes.paths import set_label
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.comparison import BASELINE
from towpath.runs.comparison_spec import SPEC, ComparisonSpec, RunSpec
from towpath.runs.folder import CONFIG, RECORDS
from towpath.runs.read import RunData, read_run


@dataclass
class Study:
    """Several weighters on one recipe, each with its runs (one for each seed)."""

    name: str
    title: str
    runs: dict[str, list[RunData]]
    """the runs of each label, in the order in which they are shown"""
    missing: list[str] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """The title for people: the recipe and, where its name does not say it, the data."""
        data = set_label(self.recipe.data.name) if self.recipe else ""
        return self.title if data.lower() in self.title.lower() else f"{self.title} on {data}"

    @property
    def labels(self) -> list[str]:
        """The labels of the weighters, in the order in which they are shown."""
        return list(self.runs)

    @property
    def recipe(self) -> Recipe | None:
        """The recipe of one of the runs, which differ in weighter and seed only."""
        return next((run.recipe for run in self.all if run.recipe), None)

    @property
    def all(self) -> list[RunData]:
        """All runs of all weighters in one list."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def baseline(self) -> str:
        """The label that the others are compared with: `uniform`, or else the first."""
        return BASELINE if BASELINE in self.runs else self.labels[0]

    @property
    def synthetic(self) -> bool:
        """Whether the data are generated rather than downloaded or the user's own."""
        return bool(self.recipe and is_synthetic(self.recipe.data.name))

    @property
    def reproduces(self) -> str:
        """The table or figure of the paper that the recipe reruns; empty where there is none."""
        return self.recipe.reproduces if self.recipe else ""

    @property
    def shortened(self) -> bool:
        """Whether the runs have the small budget of their recipe (`--budget small`)."""
        recipe = self.recipe
        return bool(
            recipe
            and recipe.small
            and recipe.training.steps == recipe.small.get("training.steps", -1)
        )

    @property
    def has_wrong_labels(self) -> bool:
        """Whether some tasks were mislabelled or off target on purpose."""
        return any(run.wrong for run in self.all)

    @property
    def wrong_word(self) -> str:
        """What the tasks that are not clean are called: off-target ones, or mislabelled ones."""
        mixed = self.recipe is not None and bool(self.recipe.data.options.get("mix"))
        return "off-target" if mixed else "mislabelled"

    def colour(self, label: str) -> int:
        """Return the index of the label's colour, which is the same in every figure."""
        return self.labels.index(label)

    def seeds(self, label: str) -> list[RunData]:
        """Return the finished runs of a weighter, or all of its runs where none is finished."""
        runs = self.runs[label]
        return [run for run in runs if run.finished] or runs


def read_studies(paths: Sequence[Path]) -> list[Study]:
    """Read the studies in some folders.

    Each folder may be a run, a comparison, or a folder that contains such. Runs outside of
    comparisons form a study where they differ in weighter and seed only.
    """
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
    """Return whether two recipes differ in weighter and seed only, so that runs are comparable."""

    def setting(recipe: Recipe) -> dict[str, object]:
        """Return the recipe's values that must agree between runs that are compared."""
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
    """Return the study of a comparison's folder, whether or not its runs have begun."""
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
    """Return why a folder of a comparison is not the run that its name states; empty if it is."""
    if not (run.folder.path / CONFIG).is_file():
        return ""  # without it nothing can be checked; `read_run` notes that it is missing
    try:
        spec.check_place(run)
    except ValueError as error:
        return f"Not shown: {' '.join(str(error).split())}"
    return ""


def _labelled(runs: Sequence[RunData]) -> dict[str, list[RunData]]:
    """Group runs by weighter, or by folder where a weighter and seed occur twice."""
    keys = [(run.weighter, run.seed) for run in runs]
    labelled: dict[str, list[RunData]] = {}
    for run, key in zip(runs, keys, strict=True):
        label = run.weighter if keys.count(key) == 1 else run.name
        labelled.setdefault(label, []).append(run)
    first = [BASELINE] if BASELINE in labelled else []
    return {label: labelled[label] for label in [*first, *(k for k in labelled if k not in first)]}
