"""Runs that rerun a part of the paper, grouped by the recipe that they name and by their setting.

A row of the paper's tables is filled only by runs whose recipe, with every default filled in, is
the shipped recipe of that row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import yaml

from towpath.recipes import shipped_recipes
from towpath.recipes.recipe import Recipe
from towpath.reports.differences import Difference, run_differences
from towpath.runs.run_data import RunData
from towpath.runs.study import Study


@dataclass(frozen=True)
class Rerun:
    """Runs that name one of the paper's recipes and share one setting."""

    recipe: str
    study: Study
    differs: tuple[Difference, ...]
    """fields in which the setting differs from the recipe; empty where it does not"""

    @property
    def difference(self) -> str:
        """A description of what differs; empty where nothing does."""
        return "; ".join(map(str, self.differs))


@cache
def paper_recipe(name: str) -> Recipe | None:
    """Return the shipped recipe of this name if it reruns a part of the paper, else None."""
    text = shipped_recipes().get(name)
    recipe = Recipe.of(yaml.safe_load(text)) if text is not None else None
    return recipe if recipe is not None and recipe.reproduces else None


def study_differences(study: Study) -> tuple[Difference, ...] | None:
    """Return how a study differs from the paper's recipe that it names; None if it names none."""
    wanted = paper_recipe(study.title)
    if wanted is None:
        return None
    found: dict[Difference, None] = {}
    for run in study.all:
        if run.recipe is not None:
            found.update(dict.fromkeys(run_differences(run, wanted)))
    return tuple(found)


def reruns(studies: Sequence[Study]) -> tuple[dict[str, list[Rerun]], list[str]]:
    """Group studies by the paper's recipe that they name.

    Runs of one setting stand together, whatever folder they are in; the setting that is the
    recipe's own comes first.

    Returns:
        the reruns of each recipe, and sentences on the runs that are not among them.
    """
    grouped: dict[str, dict[tuple[Difference, ...], Study]] = {}
    left_out: list[str] = []
    for study in studies:
        wanted = paper_recipe(study.title)
        if wanted is None:
            left_out.append(f"{study.title} is not a recipe of the paper and is not shown here.")
            continue
        left_out += study.missing
        settings = grouped.setdefault(study.title, {})
        for label, runs in study.runs.items():
            for run in runs:
                if run.recipe is None:
                    left_out.append(f"{run.name}: its recipe is not known, so it fills no row.")
                    continue
                differs = run_differences(run, wanted)
                own = settings.setdefault(differs, Study("", study.title, {}))
                left_out += _add(own, label, run)
    found: dict[str, list[Rerun]] = {}
    for title, settings in grouped.items():
        ordered = sorted(settings, key=len)
        for i, differs in enumerate(ordered):
            settings[differs].name = f"{title}-changed-{i}" if differs else title
        found[title] = [Rerun(title, settings[differs], differs) for differs in ordered]
    return found, left_out


def _add(study: Study, label: str, run: RunData) -> list[str]:
    """Put a run under its label, or its folder's name if that label is another weighter's."""
    assert run.recipe is not None
    held = study.runs.get(label, [])
    if held and held[0].recipe and held[0].recipe.weighter != run.recipe.weighter:
        label = run.name
    seeds = [other.seed for other in study.runs.setdefault(label, [])]
    if run.seed in seeds:
        return [f"{run.name}: {label} with seed {run.seed} came before; this run is not shown."]
    study.runs[label].append(run)
    return []
