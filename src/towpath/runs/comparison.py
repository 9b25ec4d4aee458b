"""A comparison's folder: what was asked (`comparison.yaml`), what came out (`comparison.json`).

The folder holds one run folder a weighter and seed. Each must be the run that its name says: one
that was moved there from elsewhere is refused.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from towpath.files import write
from towpath.recipes.recipe import Component, Recipe
from towpath.recipes.strict_yaml import load_yaml
from towpath.recipes.typed import RecipeError, plain_value
from towpath.runs.belonging import regular_bytes
from towpath.runs.folder import CONFIG, RunFolder
from towpath.runs.identity import differences
from towpath.runs.plain import Json, JsonObject, count_at, json_file, known_at, object_of, text_at
from towpath.runs.scores import Score, SeedDifferences
from towpath.runs.summary import Summary
from towpath.weighters import WEIGHTERS

ASKED, RESULT = "comparison.yaml", "comparison.json"
BASELINE = "uniform"


@dataclass(frozen=True)
class Contestant:
    """A weighter under a label: `tow`, or `tow:beta=1.0:iterations=10`."""

    label: str
    component: Component

    @classmethod
    def of(cls, text: str, recipe: Recipe) -> "Contestant":
        """From the command line's words; options of the recipe's own weighter are kept."""
        name, *settings = text.strip().split(":")
        if settings and settings[0].isidentifier() and name not in WEIGHTERS:
            name = f"{name}:{settings.pop(0)}"  # package.module:Class
        component: Component = {"name": name}
        if recipe.weighter["name"] == name:
            component = dict(recipe.weighter)
        for setting in settings:
            key, sign, value = setting.partition("=")
            if not sign:
                raise RecipeError(
                    f"The weighter {text!r} has the part {setting!r}; expected option=value, as in "
                    "tow:beta=1.0"
                )
            component[key] = plain_value(value)
        return cls(label_of(text), component)


def label_of(text: str) -> str:
    """The label, and part of a folder's name, of a weighter as the command line names it."""
    return re.sub(r"[^\w.=+-]+", "_", text.strip())


def run_name(label: str, seed: int) -> str:
    """Name of a run's folder in its comparison."""
    return f"{label}-seed{seed}"


def is_comparison(path: Path) -> bool:
    """Whether the folder is a comparison's."""
    return (path / ASKED).is_file()


# what was asked


def write_asked(path: Path, recipe: Recipe, weighters: Sequence[str], seeds: Sequence[int]) -> None:
    """Write `comparison.yaml`.

    Args:
        path: the comparison's folder.
        recipe: what every run shares.
        weighters: the contestants, as the command line names them.
        seeds: those that each is run with.
    """
    asked = {"recipe": recipe.as_mapping(), "weighters": list(weighters), "seeds": list(seeds)}
    write(path / ASKED, yaml.safe_dump(asked, sort_keys=False, allow_unicode=True).encode())


def asked_for(path: Path) -> tuple[Recipe, list[Contestant], list[int]]:
    """Recipe, contestants and seeds of a comparison folder, as they were written down."""
    try:
        asked = _asked(path)
        section = object_of(asked["recipe"], "a recipe")
        recipe = Recipe.of(dict(section))
        contestants = [Contestant.of(str(w), recipe) for w in _listed(asked, "weighters")]
        seeds = [Recipe.of({**section, "seed": seed}).seed for seed in _listed(asked, "seeds")]
    except (
        yaml.YAMLError,
        KeyError,
        TypeError,
        AttributeError,
        UnicodeDecodeError,
        RecursionError,
    ) as error:
        raise RecipeError(
            f"{path / ASKED} is damaged ({' '.join(str(error).split())}); expected what `towpath "
            "compare` wrote. Start the comparison again in a new folder."
        ) from error
    return recipe, contestants, seeds


def _asked(path: Path) -> JsonObject:
    """The plain values of `comparison.yaml`."""
    content = regular_bytes(path / ASKED, "what `towpath compare` wrote")
    return object_of(load_yaml(content.decode("utf-8")), "what was asked for")


def _listed(content: JsonObject, key: str) -> Sequence[Json]:
    value = content[key]
    if not isinstance(value, list):
        raise TypeError(f"{key} is {repr(value)[:80]}, not a list")
    return value


def run_names(path: Path) -> list[str]:
    """Names of all runs that a comparison asks for."""
    _, contestants, seeds = asked_for(path)
    return [run_name(contestant.label, seed) for contestant in contestants for seed in seeds]


def check_place(path: Path, contestant: Contestant, seed: int) -> None:
    """RecipeError if the folder of a weighter and seed holds another run.

    The configuration in it is compared with what was asked for, so that it is noticed for run
    folders of towpath 0.1 as well.
    """
    folder = RunFolder(path / run_name(contestant.label, seed))
    if not (folder.path / CONFIG).exists():  # not begun, or killed before it had
        return
    try:
        found = folder.plain_config()
    except RecipeError:  # damaged: the run fails with the reason, and the others go on
        return
    section = object_of(_asked(path)["recipe"], "a recipe")
    asked = {**section, "weighter": contestant.component, "seed": seed}
    other = differences(asked, found)
    if other:
        raise RecipeError(
            f"{folder.path} holds another run than its name says ({', '.join(other)} differ from "
            f"{path / ASKED}); expected the weighter {contestant.label} with seed {seed}. Move the "
            "folders back, or delete this one to run it again."
        )


# what came out


@dataclass(frozen=True)
class ComparedRun:
    """A finished run of a comparison."""

    label: str
    folder: str
    """its name in the comparison's folder"""
    summary: Summary
    overhead: float | None = None
    """seconds a step over the baseline's of the same seed; None where that is not finished"""

    def as_json(self) -> dict[str, Json]:
        """The plain values that `from_json` takes: the summary, and what is said beside it."""
        content = {"label": self.label, "folder": self.folder, **self.summary.as_json()}
        if self.overhead is not None:
            content["timing"] = {**self.summary.timing.as_json(), "overhead": self.overhead}
        return content

    @classmethod
    def from_json(cls, content: JsonObject) -> "ComparedRun":
        """The run of a file."""
        return cls(
            text_at(content, "label"),
            text_at(content, "folder"),
            Summary.from_json(content),
            known_at(object_of(content["timing"], "the times of a run"), "overhead"),
        )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What `comparison.json` holds: the finished runs, and how they differ from the baseline."""

    recipe: str
    synthetic: bool
    """whether the tasks were drawn by the program"""
    weighters: Sequence[str]
    """labels, in the order asked for"""
    seeds: Sequence[int]
    baseline: str
    """label that the others are compared with"""
    runs: Sequence[ComparedRun]
    differences: Mapping[str, Mapping[str, SeedDifferences]]
    """by label and test set"""

    @property
    def title(self) -> str:
        """Name of the recipe, and whether its data are real."""
        return self.recipe + (" (synthetic data)" if self.synthetic else "")

    @property
    def tests(self) -> list[str]:
        """The test sets; none where no run is finished."""
        return list(self.runs[0].summary.test) if self.runs else []

    def of(self, label: str) -> list[ComparedRun]:
        """The runs of a weighter, one a seed."""
        return [run for run in self.runs if run.label == label]

    def as_json(self) -> dict[str, Json]:
        """The plain values that `from_json` takes."""
        return {
            "recipe": self.recipe,
            "synthetic": self.synthetic,
            "weighters": self.weighters,
            "seeds": self.seeds,
            "baseline": self.baseline,
            "runs": [run.as_json() for run in self.runs],
            "differences": {
                label: {name: one.as_json() for name, one in sets.items()}
                for label, sets in self.differences.items()
            },
        }

    @classmethod
    def from_json(cls, content: JsonObject) -> "Comparison":
        """The comparison of a file; TypeError or KeyError if it is none."""
        by_label = object_of(content["differences"], "differences by label")
        return cls(
            recipe=text_at(content, "recipe"),
            synthetic=bool(content.get("synthetic", False)),
            weighters=[str(label) for label in _listed(content, "weighters")],
            seeds=[count_at({"seed": seed}, "seed") for seed in _listed(content, "seeds")],
            baseline=text_at(content, "baseline"),
            runs=[
                ComparedRun.from_json(object_of(run, "a run")) for run in _listed(content, "runs")
            ],
            differences={
                label: {
                    name: SeedDifferences.from_json(object_of(one, "a difference"))
                    for name, one in object_of(sets, "differences by test set").items()
                }
                for label, sets in by_label.items()
            },
        )


def write_comparison(path: Path, result: Comparison) -> None:
    """Write `comparison.json` of a comparison's folder."""
    write(path / RESULT, json_file(result.as_json()))


def read_comparison(path: Path) -> Comparison:
    """The `comparison.json` of a folder; RecipeError if it is not what `towpath compare` writes."""
    content = regular_bytes(path / RESULT, "what `towpath compare` wrote")
    try:
        return Comparison.from_json(object_of(json.loads(content), "a comparison"))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecipeError(
            f"{path / RESULT} is not readable ({type(error).__name__}: {error}); expected what "
            f"`towpath compare` wrote. Delete it and run: towpath resume {path}"
        ) from error


def compared(path: Path) -> Comparison:
    """Figures of the finished runs, with paired differences to the baseline."""
    recipe, contestants, seeds = asked_for(path)
    labels = [contestant.label for contestant in contestants]
    baseline = BASELINE if BASELINE in labels else labels[0]
    for contestant in contestants:
        for seed in seeds:
            check_place(path, contestant, seed)
    found: list[tuple[str, str, Summary]] = []
    scores: dict[str, dict[int, dict[str, Score]]] = {label: {} for label in labels}
    for label in labels:
        for seed in seeds:
            folder = RunFolder(path / run_name(label, seed))
            summary, own = folder.summary(), folder.evaluations()
            if summary is not None and own is not None:
                scores[label][seed] = own
                found.append((label, folder.path.name, summary))
    per_step = {s.seed: s.timing.seconds_per_step for label, _, s in found if label == baseline}
    return Comparison(
        recipe=recipe.name,
        synthetic=recipe.data["name"] == "glyphs",
        weighters=labels,
        seeds=seeds,
        baseline=baseline,
        runs=[
            ComparedRun(
                label,
                name,
                summary,
                summary.timing.seconds_per_step / base
                if (base := per_step.get(summary.seed))
                else None,
            )
            for label, name, summary in found
        ],
        differences={
            label: _differences(scores[label], scores[baseline])
            for label in labels
            if label != baseline
        },
    )


def _differences(
    own: Mapping[int, Mapping[str, Score]], base: Mapping[int, Mapping[str, Score]]
) -> dict[str, SeedDifferences]:
    """By test set: what the seeds say that both have."""
    both = [seed for seed in own if seed in base]
    result: dict[str, SeedDifferences] = {}
    for name in own[both[0]] if both else ():
        difference = SeedDifferences.between(
            {seed: own[seed][name] for seed in both}, {seed: base[seed][name] for seed in both}
        )
        assert difference is not None
        result[name] = difference
    return result
