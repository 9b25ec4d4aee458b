"""Read the studies in some folders: which runs belong together, and under which labels."""

import re
from collections.abc import Sequence
from pathlib import Path

from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.comparison import BASELINE
from towpath.runs.comparison_spec import SPEC, ComparisonSpec, RunSpec
from towpath.runs.folder import CONFIG, RECORDS
from towpath.runs.read import read_run
from towpath.runs.run_data import RunData
from towpath.runs.study import Study


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
    if (path / CONFIG).is_file() or (path / RECORDS).is_file():
        loose.append(read_run(path))
    elif inside and deep:
        for child in inside:
            _collect(child, studies, loose, deep=False)
    else:
        found = f"holds neither {CONFIG} nor {SPEC}" if any(path.iterdir()) else "is empty"
        raise RecipeError(
            f"{path} {found}; expected a run that `towpath train` or a comparison that `towpath "
            "compare` made. Check the path."
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
