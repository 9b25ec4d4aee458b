"""Several weighters side by side: the same initialisation, the same tasks, paired differences.

What is compared is described in `runs/comparison_spec.py`, the outcome in `runs/comparison.py`.
Finished runs are never run again. Only one process at a time may work on a comparison.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from towpath.files import expanded
from towpath.grid.engines import Engine, InProcess
from towpath.grid.jobs import Job
from towpath.recipes.components import weighter_options
from towpath.recipes.paths import with_lasting_paths
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.comparing import compared
from towpath.runs.comparison import RESULT, Comparison, write_comparison
from towpath.runs.comparison_spec import SPEC, ComparisonSpec, RunSpec
from towpath.runs.folder import EVALUATIONS, SUMMARY, RunFolder, refuse_existing
from towpath.training.errors import TrainingStoppedError
from towpath.training.reporter import Reporter
from towpath.training.setup import prepare

logger = logging.getLogger(__name__)


class ComparisonIncompleteError(TrainingStoppedError):
    """Some runs of a comparison failed; `result` compares the others."""

    def __init__(self, path: Path, result: Comparison, failures: Mapping[str, str]) -> None:
        asked = len(result.weighters) * len(result.seeds)
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
    """Check a new comparison, its data included, and store its description in a new folder.

    Args:
        path: the comparison's folder.
        recipe: the recipe that all runs share.
        weighters: the weighters as spelt on the command line, such as `tow:beta=1.0`.
        seeds: the seeds that each weighter is run with.
        data_root: the data folder.
        allowed: packages that classes may be imported from.
    """
    spec = ComparisonSpec.new(path, with_lasting_paths(recipe), weighters, seeds)
    refuse_existing(path)
    for contestant in spec.contestants:  # a run that cannot work is refused now, not in an hour
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
) -> Comparison:
    """Run what is not finished yet, then compare; return the content of `comparison.json`.

    Args:
        comparison: what `begin_comparison` returned, or the folder of one that was begun before.
        reporter: receives the progress of runs in this process, one after another.
        data_root: the data folder.
        allowed: packages that classes may be imported from.
        command: the command line, to be recorded in the run folders.
        engine: runs the runs; None for this process.

    Raises:
        ComparisonIncompleteError: if runs failed, after the others were run and compared.
        RecipeError: if another process works on the comparison, if a folder holds another run than
            its name states, or if every run was refused before it began, which leaves nothing.
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
        write_comparison(path, result)
    if failures:
        raise ComparisonIncompleteError(path, result, failures)
    return result


def _forget(path: Path) -> None:
    """Remove a comparison of which nothing was run: it would block the corrected command."""
    for name in (SPEC, RESULT):
        (path / name).unlink(missing_ok=True)
    with suppress(OSError):  # it has files that are not ours
        path.rmdir()


def missing_runs(
    spec: ComparisonSpec,
    *,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
    command: str = "",
) -> list[Job]:
    """Return the runs of a comparison that are not finished, one seed after another.

    Args:
        spec: what is compared.
        data_root: the data folder.
        allowed: packages that classes may be imported from.
        command: the command line, to be recorded in the run folders.
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
