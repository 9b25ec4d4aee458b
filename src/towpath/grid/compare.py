"""Several weighters side by side: the same initialisation, the same tasks, paired differences.

A comparison folder holds one run folder a weighter and seed, `comparison.yaml` (what was asked) and
`comparison.json` (what came out). Finished runs are never run again. Each run folder must be the
run that its name says: one that was moved there from elsewhere is refused. One process at a time
works on a comparison.
"""

import json
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from towpath.files import expanded, new_folder, write
from towpath.grid.engines import Engine, InProcess
from towpath.grid.jobs import Job
from towpath.recipes.components import weighter_options
from towpath.recipes.recipe import Component, Recipe
from towpath.recipes.strict_yaml import load_yaml
from towpath.recipes.typed import RecipeError, plain_value
from towpath.runs.belonging import regular_bytes
from towpath.runs.folder import (
    CONFIG,
    EVALUATIONS,
    SUMMARY,
    RunFolder,
    plain_json,
    refuse_existing,
)
from towpath.runs.identity import differences
from towpath.training.errors import TrainingStoppedError
from towpath.training.evaluation import paired_difference
from towpath.training.reporter import Reporter
from towpath.training.setup import prepare, with_lasting_paths
from towpath.weighters import WEIGHTERS

logger = logging.getLogger(__name__)
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
        return cls(re.sub(r"[^\w.=+-]+", "_", text.strip()), component)


class ComparisonIncompleteError(TrainingStoppedError):
    """Some runs failed; `result` compares the others."""

    def __init__(self, path: Path, result: dict[str, Any], failures: Mapping[str, str]) -> None:
        asked = len(result["weighters"]) * len(result["seeds"])
        reasons = "; ".join(f"{name}: {why.rstrip('.')}" for name, why in failures.items())
        super().__init__(
            f"{len(failures)} of {asked} runs failed, twice each ({reasons}); expected all to end. "
            f"The others are compared in {path / RESULT}. Look into what stopped them, then go on "
            f"with: towpath resume {path}"
        )
        self.result = result


def is_comparison(path: Path) -> bool:
    """Whether the folder is a comparison's."""
    return (path / ASKED).is_file()


def begin_comparison(
    path: Path,
    recipe: Recipe,
    weighters: Sequence[str],
    seeds: Sequence[int],
    *,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
) -> None:
    """Check what is asked, data and all, and write it down in a new folder."""
    if not weighters or not seeds:
        raise RecipeError(
            f"compare found no {'seed' if weighters else 'weighter'}; expected at least one, as in "
            f"{'--seeds 0,1' if weighters else '--weighters uniform,tow'}"
        )
    contestants = [Contestant.of(text, recipe) for text in weighters]
    labels = [contestant.label for contestant in contestants]
    if len(set(labels)) < len(labels) or len(set(seeds)) < len(seeds):
        raise RecipeError(
            f"compare found weighters {labels} and seeds {list(seeds)}; expected each once."
        )
    refuse_existing(path)
    recipe = with_lasting_paths(recipe)
    for seed in seeds:
        Recipe.of({**recipe.as_mapping(), "seed": seed})
    for contestant in contestants:  # what cannot run is said now, not in an hour
        prepare(replace(recipe, weighter=contestant.component), data_root, allowed)
    asked = {"recipe": recipe.as_mapping(), "weighters": list(weighters), "seeds": list(seeds)}
    text = yaml.safe_dump(asked, sort_keys=False, allow_unicode=True)
    with new_folder(path), RunFolder(path).held():
        refuse_existing(path)  # another process may have been quicker
        write(path / ASKED, text.encode())


def run_comparison(
    path: Path,
    reporter: Reporter,
    *,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
    command: str = "",
    engine: Engine | None = None,
) -> dict[str, Any]:
    """Run what is not finished yet, then compare; returns what `comparison.json` holds.

    Args:
        path: the comparison's folder.
        reporter: who is told, where the runs are run here, one after another.
        data_root: the data folder.
        allowed: packages that classes may be imported from.
        command: the words of the command line, for the record.
        engine: who runs them, if not this process.

    Raises:
        ComparisonIncompleteError: if runs failed, after the others were run and compared.
        RecipeError: if another process is at it, if a folder holds another run than its name says,
            or if every run was refused before it began, which leaves nothing behind.
    """
    with RunFolder(path).held():
        jobs = missing_runs(path, data_root=data_root, allowed=allowed, command=command)
        failures = (engine or InProcess(reporter)).run(jobs) if jobs else {}
        if failures and not any((path / name).exists() for name in run_names(path)):
            _forget(path)
            reasons = "; ".join(dict.fromkeys(why.rstrip(".") for why in failures.values()))
            raise RecipeError(f"No run of the comparison could begin: {reasons}.")
        result = compared(path)
        text = json.dumps(plain_json(result), indent=1, ensure_ascii=False)
        write(path / RESULT, f"{text}\n".encode())
    if failures:
        raise ComparisonIncompleteError(path, result, failures)
    return result


def _forget(path: Path) -> None:
    """Remove a comparison of which nothing was run: it would block the corrected command."""
    for name in (ASKED, RESULT):
        (path / name).unlink(missing_ok=True)
    with suppress(OSError):  # it holds something that is not ours
        path.rmdir()


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
    asked = {**_asked(path)["recipe"], "weighter": contestant.component, "seed": seed}
    other = differences(asked, found)
    if other:
        raise RecipeError(
            f"{folder.path} holds another run than its name says ({', '.join(other)} differ from "
            f"{path / ASKED}); expected the weighter {contestant.label} with seed {seed}. Move the "
            "folders back, or delete this one to run it again."
        )


def missing_runs(
    path: Path,
    *,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
    command: str = "",
) -> list[Job]:
    """The runs of a comparison that are not finished, seed by seed."""
    recipe, contestants, seeds = asked_for(path)
    for contestant in contestants:
        weighter_options(contestant.component, allowed)  # refuses a misspelt name or option
    # whole paths: a run may be taken up in another folder, or on another machine
    root = None if data_root is None else str(expanded(data_root).resolve())
    jobs = []
    for seed in seeds:
        for contestant in contestants:
            name = run_name(contestant.label, seed)
            check_place(path, contestant, seed)
            folder = RunFolder(path / name)
            if folder.finished:
                continue
            if (folder.path / SUMMARY).exists() and not (folder.path / EVALUATIONS).exists():
                logger.warning(
                    "%s has no %s: its test tasks are tried again.", folder.path, EVALUATIONS
                )
            one = replace(recipe, weighter=contestant.component, seed=seed)
            place = str(folder.path.resolve())
            jobs.append(Job(name, place, one.as_mapping(), root, tuple(allowed), command=command))
    return jobs


def _asked(path: Path) -> dict[str, Any]:
    """The plain values of `comparison.yaml`."""
    content = regular_bytes(path / ASKED, "what `towpath compare` wrote")
    asked: dict[str, Any] = load_yaml(content.decode("utf-8"))
    return asked


def asked_for(path: Path) -> tuple[Recipe, list[Contestant], list[int]]:
    """Recipe, contestants and seeds of a comparison folder, as they were written down."""
    try:
        asked = _asked(path)
        recipe = Recipe.of(dict(asked["recipe"]))
        contestants = [Contestant.of(w, recipe) for w in asked["weighters"]]
        seeds = [Recipe.of({**asked["recipe"], "seed": seed}).seed for seed in asked["seeds"]]
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


def run_name(label: str, seed: int) -> str:
    """Name of a run's folder in its comparison."""
    return f"{label}-seed{seed}"


def compared(path: Path) -> dict[str, Any]:
    """Figures of the finished runs, with paired differences to the baseline."""
    recipe, contestants, seeds = asked_for(path)
    labels = [contestant.label for contestant in contestants]
    baseline = BASELINE if BASELINE in labels else labels[0]
    for contestant in contestants:
        for seed in seeds:
            check_place(path, contestant, seed)
    runs: list[dict[str, Any]] = []
    values: dict[tuple[str, int], Mapping[str, Any]] = {}
    for label in labels:
        for seed in seeds:
            folder = RunFolder(path / run_name(label, seed))
            summary, scores = folder.summary(), folder.evaluations()
            if summary is None or scores is None:
                continue
            values[label, seed] = scores
            runs.append({"label": label, "folder": run_name(label, seed), **summary})
    _add_overhead(runs, baseline)
    return {
        "recipe": recipe.name,
        "synthetic": recipe.data["name"] == "glyphs",
        "weighters": labels,
        "seeds": seeds,
        "baseline": baseline,
        "runs": runs,
        "differences": {
            label: _differences(values, label, baseline, seeds)
            for label in labels
            if label != baseline
        },
    }


def _add_overhead(runs: list[dict[str, Any]], baseline: str) -> None:
    """Seconds a step over the baseline's, for each seed; under `timing`, as all clock figures."""
    base = {
        run["seed"]: run["timing"]["seconds_per_step"] for run in runs if run["label"] == baseline
    }
    for run in runs:
        per_step = base.get(run["seed"])
        if per_step:
            ratio = run["timing"]["seconds_per_step"] / per_step
            run["timing"] = {**run["timing"], "overhead": ratio}


def _differences(
    values: Mapping[tuple[str, int], Mapping[str, Any]],
    label: str,
    baseline: str,
    seeds: Sequence[int],
) -> dict[str, Any]:
    """Per test set: for each seed, and for the mean over seeds of each task."""
    result: dict[str, Any] = {}
    both = [s for s in seeds if (label, s) in values and (baseline, s) in values]
    for name in values[label, both[0]] if both else ():
        rows = [
            _figures(values[label, s][name]) - _figures(values[baseline, s][name]) for s in both
        ]
        pooled = paired_difference(np.mean(rows, axis=0), np.zeros_like(rows[0]))
        result[name] = {
            "mean": pooled.mean,
            "interval": pooled.interval,
            "p_value": pooled.p_value,
            "excludes_zero": pooled.excludes_zero,
            "seeds": {
                str(seed): {
                    "mean": one.mean,
                    "interval": one.interval,
                    "p_value": one.p_value,
                    "excludes_zero": one.excludes_zero,
                }
                for seed, row in zip(both, rows, strict=True)
                for one in [paired_difference(row, np.zeros_like(row))]
            },
        }
    return result


def _figures(scores: Mapping[str, Any]) -> Any:
    chosen = scores["accuracies"] if scores["accuracies"] is not None else scores["losses"]
    return np.asarray(chosen, dtype=np.float64)
