"""Several weighters side by side: the same initialisation, the same tasks, paired differences.

A comparison folder holds one run folder a weighter and seed, `comparison.yaml` (what is compared)
and `comparison.json` (what came out). Finished runs are never run again. One process at a time
works on a comparison.
"""

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from towpath.data.registry import is_synthetic
from towpath.files import expanded, write
from towpath.grid.engines import Engine, InProcess
from towpath.grid.jobs import Job
from towpath.recipes.components import weighter_options
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.comparison_spec import SPEC, ComparisonSpec, RunSpec
from towpath.runs.folder import EVALUATIONS, SUMMARY, RunFolder, plain_json, refuse_existing
from towpath.training.errors import TrainingStoppedError
from towpath.training.evaluation import paired_difference
from towpath.training.reporter import Reporter
from towpath.training.setup import prepare, with_lasting_paths

logger = logging.getLogger(__name__)
RESULT = "comparison.json"
BASELINE = "uniform"


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


def begin_comparison(
    path: Path,
    recipe: Recipe,
    weighters: Sequence[str],
    seeds: Sequence[int],
    *,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
) -> ComparisonSpec:
    """Check what is to be compared, data and all, and write it down in a new folder.

    Args:
        path: the comparison's folder.
        recipe: what every run shares.
        weighters: the weighters as the command line spells them, such as `tow:beta=1.0`.
        seeds: those that each weighter is run with.
        data_root: the data folder.
        allowed: packages that classes may be imported from.
    """
    spec = ComparisonSpec.new(path, with_lasting_paths(recipe), weighters, seeds)
    refuse_existing(path)
    for contestant in spec.contestants:  # what cannot run is said now, not in an hour
        prepare(replace(spec.recipe, weighter=contestant.component), data_root, allowed)
    spec.write()
    return spec


def run_comparison(
    comparison: ComparisonSpec | Path,
    reporter: Reporter,
    *,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
    command: str = "",
    engine: Engine | None = None,
) -> dict[str, Any]:
    """Run what is not finished yet, then compare; returns what `comparison.json` holds.

    Args:
        comparison: what `begin_comparison` returned, or the folder of one that was begun before.
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
    path = comparison.path if isinstance(comparison, ComparisonSpec) else comparison
    with RunFolder(path).held():
        spec = comparison if isinstance(comparison, ComparisonSpec) else ComparisonSpec.read(path)
        jobs = missing_runs(spec, data_root=data_root, allowed=allowed, command=command)
        failures = (engine or InProcess(reporter)).run(jobs) if jobs else {}
        if failures and not any(run.folder.path.exists() for run in spec.runs()):
            _forget(path)
            reasons = "; ".join(dict.fromkeys(why.rstrip(".") for why in failures.values()))
            raise RecipeError(f"No run of the comparison could begin: {reasons}.")
        result = compared(spec)
        text = json.dumps(plain_json(result), indent=1, ensure_ascii=False)
        write(path / RESULT, f"{text}\n".encode())
    if failures:
        raise ComparisonIncompleteError(path, result, failures)
    return result


def _forget(path: Path) -> None:
    """Remove a comparison of which nothing was run: it would block the corrected command."""
    for name in (SPEC, RESULT):
        (path / name).unlink(missing_ok=True)
    with suppress(OSError):  # it holds something that is not ours
        path.rmdir()


def missing_runs(
    spec: ComparisonSpec,
    *,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
    command: str = "",
) -> list[Job]:
    """The runs of a comparison that are not finished, seed by seed.

    Args:
        spec: what is compared.
        data_root: the data folder.
        allowed: packages that classes may be imported from.
        command: the words of the command line, for the record.
    """
    # all options of each weighter; refuses a misspelt name or option before anything runs
    options = {c.label: weighter_options(c.component, allowed) for c in spec.contestants}
    # whole paths: a run may be taken up in another folder, or on another machine
    root = None if data_root is None else str(expanded(data_root).resolve())
    jobs = []
    for seed in spec.seeds:
        for contestant in spec.contestants:
            run = spec.run(contestant, seed)
            spec.check_place(run)
            if _finished(run):
                continue
            weighter = contestant.component.given(**options[contestant.label])
            recipe = replace(run.recipe, weighter=weighter)
            folder = str(run.folder.path.resolve())
            jobs.append(Job(run.name, folder, recipe, root, tuple(allowed), command))
    return jobs


def _finished(run: RunSpec) -> bool:
    path = run.folder.path
    if run.folder.finished:
        return True
    if (path / SUMMARY).exists() and not (path / EVALUATIONS).exists():
        logger.warning("%s has no %s: its test tasks are tried again.", path, EVALUATIONS)
    return False


def compared(comparison: ComparisonSpec | Path) -> dict[str, Any]:
    """Figures of the finished runs, with paired differences to the baseline.

    Args:
        comparison: what is compared, or the folder of a comparison.
    """
    spec = comparison
    if not isinstance(spec, ComparisonSpec):
        spec = ComparisonSpec.read(spec)
    labels, seeds = spec.labels, list(spec.seeds)
    baseline = BASELINE if BASELINE in labels else labels[0]
    all_runs = list(spec.runs())
    for run in all_runs:
        spec.check_place(run)
    runs: list[dict[str, Any]] = []
    values: dict[tuple[str, int], Mapping[str, Any]] = {}
    for run in all_runs:
        summary, scores = run.folder.summary(), run.folder.evaluations()
        if summary is None or scores is None:
            continue
        label = run.contestant.label
        values[label, run.seed] = scores
        runs.append({"label": label, "folder": run.name, **summary})
    _add_overhead(runs, baseline)
    return {
        "recipe": spec.recipe.name,
        "synthetic": is_synthetic(spec.recipe.data.name),
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
