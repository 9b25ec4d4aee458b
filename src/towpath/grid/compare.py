"""Several weighters side by side: the same initialisation, the same tasks, paired differences.

What its folder holds is in `runs/comparison.py`. Finished runs are never run again. One process at
a time works on a comparison.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from towpath.files import expanded, new_folder
from towpath.grid.engines import Engine, InProcess
from towpath.grid.jobs import Job
from towpath.recipes.components import weighter_options
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.comparison import (
    ASKED,
    RESULT,
    Comparison,
    Contestant,
    asked_for,
    check_place,
    compared,
    run_name,
    run_names,
    write_asked,
    write_comparison,
)
from towpath.runs.folder import EVALUATIONS, SUMMARY, RunFolder, refuse_existing
from towpath.training.errors import TrainingStoppedError
from towpath.training.reporter import Reporter
from towpath.training.setup import prepare, with_lasting_paths

logger = logging.getLogger(__name__)


class ComparisonIncompleteError(TrainingStoppedError):
    """Some runs failed; `result` compares the others."""

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
    with new_folder(path), RunFolder(path).held():
        refuse_existing(path)  # another process may have been quicker
        write_asked(path, recipe, weighters, seeds)


def run_comparison(
    path: Path,
    reporter: Reporter,
    *,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
    command: str = "",
    engine: Engine | None = None,
) -> Comparison:
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
        write_comparison(path, result)
    if failures:
        raise ComparisonIncompleteError(path, result, failures)
    return result


def _forget(path: Path) -> None:
    """Remove a comparison of which nothing was run: it would block the corrected command."""
    for name in (ASKED, RESULT):
        (path / name).unlink(missing_ok=True)
    with suppress(OSError):  # it holds something that is not ours
        path.rmdir()


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
