"""Runs compared with the paper's recipes, by value: which of them fill a row, and what differs.

A row of the paper's tables is filled only by runs whose recipe, with every default filled in, is
the shipped recipe of that row. The comparison knows no field by name: whatever a recipe holds
counts, except for what `MAY_DIFFER` lists, and the weighter, which decides the row.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import yaml

from towpath.backbones import BACKBONES
from towpath.data import load_folder
from towpath.data.registry import SETS
from towpath.learners import LEARNERS
from towpath.recipes import shipped_recipes
from towpath.recipes.component import Component
from towpath.recipes.components import OPTIMIZERS, component_wants_targets, weighter_options
from towpath.recipes.recipe import COMPONENTS, Recipe
from towpath.recipes.typed import RecipeError
from towpath.reports.sections import paper
from towpath.runs.run_data import RunData
from towpath.runs.study import Study
from towpath.weighters import WEIGHTERS

Plain: TypeAlias = "bool | int | float | str | tuple[Plain, ...] | None"
"""value of a recipe that can be compared and hashed: lists and mappings are tuples"""
MAY_DIFFER = frozenset(
    {
        # words about the recipe
        "name",
        "about",
        "reproduces",
        # what other runs of the recipe would be
        "compare",
        "small",
        # where and how often it ran: no result is meant to depend on them
        "seed",
        "threads",
        "device",
        "training.checkpoint_every",
    }
)
"""fields, by dotted name, in which a run of a recipe may differ from it and still be that recipe's;
the folder and the number of jobs are no part of a recipe"""


@dataclass(frozen=True)
class Difference:
    """A field of a recipe with two values: the paper's recipe's, and the run's."""

    field: str
    paper: Plain
    found: Plain

    def __str__(self) -> str:
        return f"{self.field} {_text(self.found)} instead of {_text(self.paper)}"


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


def resolved(recipe: Recipe) -> dict[str, Plain]:
    """Return all values of a recipe by dotted name, with its components' defaults filled in."""
    values: dict[str, Plain] = {}
    for section, value in recipe.as_mapping().items():
        if section in COMPONENTS:
            value = {**_defaults(section, value["name"]), **value}
        for key, inner in _flat(section, value).items():
            values[key] = _plain(inner)
    return values


def differences(found: Recipe, wanted: Recipe) -> tuple[Difference, ...]:
    """Return the fields in which a recipe differs from another.

    The weighter and the fields of `MAY_DIFFER` are left out.

    Args:
        found: the recipe of the run.
        wanted: the paper's recipe.
    """
    ours, theirs = resolved(found), resolved(wanted)
    told = []
    for key in {**theirs, **ours}:
        section = key.partition(".")[0]
        if section == "weighter" or {key, section} & MAY_DIFFER:
            continue
        if key in ours and key in theirs:
            if ours[key] != theirs[key]:
                told.append(Difference(key, theirs[key], ours[key]))
        elif ours.get(f"{section}.name") == theirs.get(f"{section}.name"):
            told.append(Difference(key, theirs.get(key), ours.get(key)))
        # else: an option that only one of two different components has goes without saying
    return tuple(told)


def run_differences(run: RunData, wanted: Recipe) -> tuple[Difference, ...]:
    """Return the fields in which a run differs from a recipe.

    Of a finished run, the steps that were trained and the tasks that were tested count as well.
    """
    assert run.recipe is not None
    told = list(differences(run.recipe, wanted))
    if run.summary is not None and not any(d.field == "training.steps" for d in told):
        steps = run.summary.steps
        if steps != wanted.training.steps:
            told.append(Difference("trained steps", wanted.training.steps, steps))
    if not any(d.field == "test.tasks" for d in told):
        counts = {len(score.values) for score in run.scores.values()} - {wanted.test.tasks}
        told += [Difference("tested tasks", wanted.test.tasks, n) for n in sorted(counts)]
    return tuple(told)


def method_of(component: Component) -> str:
    """Return the paper's method that a weighter implements, judged by its values, or "".

    >>> [method_of(Component(name)) for name in ("tow", "tow-faithful", "uniform")]
    ['', 'tow', 'uniform']
    >>> method_of(Component("tow-faithful", {"beta": 1.0})), method_of(Component("exploration"))
    ('', 'exploration')
    """
    own = _weighter(component)
    return next(
        (method for method, name in paper.METHODS.items() if own == _weighter(Component(name))), ""
    )


def label_method(study: Study, label: str) -> str:
    """Return the paper's method that all runs under a label implement, or "" if there is none."""
    methods = {method_of(run.recipe.weighter) for run in study.runs[label] if run.recipe}
    return methods.pop() if len(methods) == 1 else ""


def label_of(study: Study, weighter: str) -> str | None:
    """Return the label under which a registered weighter ran with its defaults, else None."""
    wanted = _weighter(Component(weighter))
    for label, runs in study.runs.items():
        own = [run for run in runs if run.recipe]
        if own and all(run.recipe and _weighter(run.recipe.weighter) == wanted for run in own):
            return label
    return None


def weighter_difference(component: Component) -> str:
    """Describe how a weighter differs from the paper's; empty for one of the paper's."""
    if method_of(component):
        return ""
    name = component.name
    entry, own = _weighter(Component(name)), _weighter(component)
    if name == paper.OURS and own == entry:
        return "ours: not the paper's TOW"
    if entry is None or own is None or name not in (*paper.METHODS.values(), paper.OURS):
        return "not a weighter of the paper"
    changed = [
        str(Difference(f"weighter.{key}", value, own.options[key]))
        for key, value in entry.options.items()
        if own.options[key] != value
    ]
    return "; ".join(changed)


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


@dataclass(frozen=True)
class _Made:
    """The maker of a registered weighter and its options: equal values, equal weighters."""

    make: Callable[..., object]
    options: dict[str, Plain]
    wants_targets: bool


def _weighter(component: Component) -> _Made | None:
    """Return the maker and options of a registered weighter; None for any other."""
    entry = WEIGHTERS.get(component.name)
    if entry is None:
        return None
    try:
        options = weighter_options(component)
    except RecipeError:  # an edited configuration; the run is shown, as nobody's row
        return None
    plain = {key: _plain(value) for key, value in options.items()}
    return _Made(entry.make, plain, component_wants_targets(component))


def _defaults(section: str, name: str) -> dict[str, object]:
    """Return the options that a recipe may leave out of a component, with their defaults."""
    if section == "weighter":
        known = _weighter(Component(name))
        return dict(known.options) if known else {}
    loaders: dict[str, Callable[..., object]] = {key: entry.load for key, entry in SETS.items()}
    makers: Mapping[str, Mapping[str, Callable[..., object]]] = {
        "data": loaders,
        "backbone": BACKBONES,
        "learner": LEARNERS,
        "optimizer": OPTIMIZERS,
    }
    make = makers[section].get(name, load_folder if section == "data" else None)
    if make is None:
        return {}
    aside = ("root", "path", "split", "model")
    return {
        key: parameter.default
        for key, parameter in inspect.signature(make).parameters.items()
        if parameter.default is not inspect.Parameter.empty and key not in aside
    }


def _flat(name: str, value: object) -> dict[str, object]:
    """Return nested mappings as one mapping by dotted name."""
    if not isinstance(value, Mapping):
        return {name: value}
    return {k: v for key, inner in value.items() for k, v in _flat(f"{name}.{key}", inner).items()}


def _plain(value: object) -> Plain:
    """Return lists and tuples alike as tuples, since YAML knows no tuples."""
    if isinstance(value, list | tuple):
        return tuple(_plain(inner) for inner in value)
    if isinstance(value, Mapping):
        return tuple(sorted((key, _plain(inner)) for key, inner in value.items()))
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)  # a default that is an object of its own


def _text(value: Plain) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple) and not value:
        return "none"
    return str(value)
