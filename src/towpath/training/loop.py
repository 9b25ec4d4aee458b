"""The training loop: clock, disk and progress around the pure step.

What it costs to be stopped (by a kill, a full disk, Ctrl-C) is at most the steps since the last
checkpoint: going on from there gives the same bits as never having stopped.

Several ranks of torchrun run the same loop on the same state; the first alone writes and reports.
"""

import logging
import time
from collections.abc import Collection
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

from towpath.distributed.ranks import ALONE, Ranks
from towpath.distributed.torchrun import LostRankError, restarts
from towpath.recipes.components import weighter_options
from towpath.recipes.optimizers import with_whole_schedule
from towpath.recipes.paths import with_lasting_paths
from towpath.recipes.recipe import Recipe
from towpath.runs.folder import CONFIG, RunFolder, refuse_existing
from towpath.runs.made_with import MadeWith, versions
from towpath.runs.origin import Origin
from towpath.runs.plain import plain_json
from towpath.runs.record_file import NoRecords, Records, RecordWriter
from towpath.runs.records import (
    Clock,
    ProbeRecord,
    Record,
    StepRecord,
    WindowRecord,
    clocked,
)
from towpath.runs.summary import Summary
from towpath.training.checkpoint import (
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from towpath.training.errors import TrainingStoppedError
from towpath.training.estimate import estimate
from towpath.training.judging import final_scores, validated
from towpath.training.plan_statistics import plan_statistics
from towpath.training.remembered import check_memory
from towpath.training.reporter import Reporter, SilentReporter
from towpath.training.same_data import check_data, require_in_place
from towpath.training.seen_judges import (
    trained_on_a_judge,
    unjudged_heats_note,
    without_seen_judges,
)
from towpath.training.setup import Setup, prepare
from towpath.training.step import task_info, train_step
from towpath.training.summary import conclude
from towpath.training.threads import one_thread_a_task
from towpath.training.trust_check import first_record, trust_checked
from towpath.weighters import MiniBatchWeighter
from towpath.weighters.tensors import parted

logger = logging.getLogger(__name__)
FAILURES_ALLOWED = 3


def train(
    path: Path,
    recipe: Recipe,
    reporter: Reporter,
    *,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
    command: str = "",
    ranks: Ranks = ALONE,
    workers: int | None = None,
) -> Summary:
    """Train a recipe in a new run folder and return the summary.

    If torchrun has restarted the ranks, the run that they had begun is resumed instead.

    Args:
        path: the run's folder, which must be empty or not exist.
        recipe: the recipe to train.
        reporter: receives the progress.
        data_root: the data folder.
        allowed: packages that classes may be imported from.
        command: the command line, to be recorded in the run folder.
        ranks: the processes that share the tasks.
        workers: number of threads, in place of the recipe's; no result depends on it.
    """
    options = weighter_options(recipe.weighter, allowed)
    recipe = replace(
        recipe,
        weighter=recipe.weighter.given(**options),
        optimizer=with_whole_schedule(recipe.optimizer, recipe.training.steps),
    )
    recipe = with_lasting_paths(recipe)
    if ranks.first(lambda: _begun_before_a_restart(path, recipe)):
        return resume(
            path, reporter, data_root=data_root, allowed=allowed, ranks=ranks, workers=workers
        )
    with one_thread_a_task():
        setup = prepare(recipe, data_root, allowed, ranks=ranks, workers=workers)
        made_with = MadeWith(setup.shape, command, versions())
        folder = ranks.first(
            lambda: RunFolder.create(path, recipe, made_with, setup.contents, setup.table)
        )
        return _run(folder, setup, reporter, new=True)


def resume(
    path: Path,
    reporter: Reporter,
    *,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
    ranks: Ranks = ALONE,
    workers: int | None = None,
    steps: int | None = None,
) -> Summary:
    """Resume a run from its last checkpoint and return the summary.

    A finished run is left as it is, unless more steps are asked of it.

    Args:
        path: the run's folder.
        reporter: receives the progress.
        data_root: the data folder.
        allowed: packages that classes may be imported from.
        ranks: the processes that share the tasks.
        workers: number of threads, in place of the recipe's; no result depends on it.
        steps: number of steps to train for in all, if more than the run was begun with.
    """
    folder, recipe, summary = ranks.first(lambda: _opened(path, steps))
    if summary is not None:
        return summary
    with one_thread_a_task():
        ranks.first(lambda: require_in_place(folder, recipe))
        setup = prepare(recipe, data_root, allowed, ranks=ranks, workers=workers)
        ranks.first(lambda: check_data(folder, setup))
        seen = ranks.first(lambda: trained_on_a_judge(folder.records_path, setup.trusted))
        setup = replace(setup, trusted=without_seen_judges(setup.trusted, seen))
        note = unjudged_heats_note(recipe, setup.weighter, seen)
        if note and ranks.is_first:
            reporter.noted(seen.step if seen is not None else 0, note)
        return _run(folder, setup, reporter)


def _begun_before_a_restart(path: Path, recipe: Recipe) -> bool:
    """Return whether the folder holds this run from before a restart; refuse any other content."""
    if restarts() and (path / CONFIG).is_file():
        found, _ = RunFolder(path).config()
        # an older run of the same recipe may go on as well: its results would be the same
        if plain_json(found.as_mapping()) == plain_json(recipe.as_mapping()):
            return True
    refuse_existing(path)
    return False


def _opened(path: Path, steps: int | None) -> tuple[RunFolder, Recipe, Summary | None]:
    folder = RunFolder.open(path)
    if steps is not None:
        folder = folder.with_steps(steps)
    return folder, folder.config()[0], folder.summary() if folder.finished else None


def _run(folder: RunFolder, setup: Setup, reporter: Reporter, new: bool = False) -> Summary:
    """Train to the end while the folder is locked; a `new` run that is refused leaves nothing."""
    ranks = setup.ranks
    try:
        with ExitStack() as stack:
            ranks.first(lambda: stack.enter_context(folder.held()))
            try:
                return _run_to_end(folder, setup, reporter)
            except OSError:  # a full disk: the run was not refused, and can go on
                raise
            except (ValueError, ArithmeticError, MemoryError):
                if new and ranks.is_first:
                    folder.remove_untrained()
                raise
    except BrokenPipeError:  # the pipe of the progress output broke, not the folder
        raise
    except OSError as error:
        raise TrainingStoppedError(
            f"The run folder {folder.path} could not be written ({error.strerror or error}); its "
            "last good checkpoint is kept. Make that possible, then go on with: towpath resume "
            f"{folder.path}"
        ) from error


def _run_to_end(folder: RunFolder, setup: Setup, reporter: Reporter) -> Summary:
    ranks = setup.ranks
    if not ranks.is_first:
        reporter = SilentReporter()
    found = ranks.first(lambda: _left_by_the_last_attempt(folder, setup))
    current = Checkpoint(setup.start, None, 0, 0, 0.0, 0.0)
    if found is not None:
        current = found.to(setup.device)
    logger.info("%s: training from step %d", folder.path, current.state.step)
    reporter.began(setup, current.state.step)
    remaining = setup.recipe.training.steps - current.state.step
    if remaining > 0:
        reporter.expected(estimate(setup, remaining, current.state.trust))
    records = RecordWriter(folder.records_path, current.records_bytes) if ranks.is_first else None
    with records or nullcontext():
        current = _train(folder, setup, reporter, records or NoRecords(), current)
    scores, seconds = final_scores(setup, current, reporter)
    if ranks.is_first and not folder.records_path.is_file():
        raise _moved(folder)
    summary = ranks.first(lambda: conclude(folder, setup, current, scores, seconds))
    logger.info("%s: ended after step %d", folder.path, current.state.step)
    reporter.ended(summary)
    return summary


def _left_by_the_last_attempt(folder: RunFolder, setup: Setup) -> Checkpoint | None:
    for leftover in folder.path.rglob(".*.partial"):  # left by a write that was killed
        leftover.unlink(missing_ok=True)
    found = load_checkpoint(folder.checkpoints, setup.start, Origin.of(folder))
    if found is None or not found.state.weighter_state:
        return found
    weighter = setup.weighter_under(found.state.trust)
    remembered = dict(found.state.weighter_state)
    if isinstance(weighter, MiniBatchWeighter):
        remembered = weighter.memory_since_0_1(remembered, found.state.step)
        found = replace(found, state=replace(found.state, weighter_state=remembered))
    check_memory(remembered, weighter)
    return found


def _moved(folder: RunFolder) -> TrainingStoppedError:
    return TrainingStoppedError(
        f"The run folder {folder.path} was renamed, replaced or removed while it was trained in; "
        "expected it to stay where it is. What it has is kept as it is: go on with towpath resume "
        "and its new name."
    )


def _train(
    folder: RunFolder,
    setup: Setup,
    reporter: Reporter,
    writer: Records,
    current: Checkpoint,
) -> Checkpoint:
    recipe, ranks = setup.recipe, setup.ranks
    began = time.perf_counter() - current.seconds
    run = folder.digest if ranks.is_first else ""

    def save(now: Checkpoint) -> None:
        """Save a checkpoint on the first rank, and cut the records back to it."""
        if not ranks.is_first:
            return
        if not writer.in_place():
            raise _moved(folder)
        writer.truncate(now.records_bytes)  # drops lines of a window that was interrupted
        save_checkpoint(folder.checkpoints, now, run)

    # the state after the last whole window and its records, whatever interrupts the next one
    complete = current
    try:
        if current.state.window == 0 and current.records_bytes == 0:
            for known in first_record(setup):
                writer.write(known)
            for probe in _probe_records(setup, current, before=-1):
                writer.write(probe)
            complete = _after_records(current, writer)
        while not _done(recipe, complete):
            before = complete.state.step
            now, window = _train_window(setup, complete)
            now, others = _looked_at(setup, now, before, reporter)
            seconds = time.perf_counter() - began
            for record in (*window, *others):
                writer.write(clocked(record, Clock(seconds, now.training_seconds)))
            writer.flush()
            complete = replace(_after_records(now, writer), seconds=seconds)
            state = complete.state
            _tell_of_race(reporter, state.step, window[0])
            reporter.stepped(state.step, window[-1])
            if state.failures >= FAILURES_ALLOWED:
                save(complete)
                raise TrainingStoppedError(
                    f"{FAILURES_ALLOWED} windows in a row could not be planned (step "
                    f"{state.step}): losses, gradients or parameters are not finite. The last "
                    "good state is in the run's checkpoints; lower optimizer.meta_lr or look at "
                    "the data."
                )
            if _crosses(recipe.training.checkpoint_every, before, state.step):
                save(complete)
    except (KeyboardInterrupt, LostRankError):
        save(complete)
        raise
    save(complete)
    return complete


def _tell_of_race(reporter: Reporter, step: int, record: WindowRecord) -> None:
    """Report what a race decided in a window, of which `record` is the first one."""
    plan = record.plan if isinstance(record, StepRecord) else None
    if plan is not None and plan.race is not None and plan.race.decides:
        reporter.raced(step, plan.race)


def _after_records(now: Checkpoint, writer: Records) -> Checkpoint:
    """Return the checkpoint as the one that all records written so far belong to."""
    return replace(now, records_bytes=writer.bytes_written, records_digest=writer.digest)


def _train_window(setup: Setup, now: Checkpoint) -> tuple[Checkpoint, list[WindowRecord]]:
    """Train on the next window and measure the time that it takes."""
    recipe, ranks = setup.recipe, setup.ranks
    began = time.perf_counter()
    left = recipe.training.steps - now.state.step
    trust = now.state.trust
    window, targets = setup.window(now.state.window, left, trust)
    state, records = train_step(
        now.state,
        window,
        objective=setup.objective,
        weighter=setup.weighter_under(trust),
        targets=targets,
        judges=setup.judges(now.state.window, trust),
        seed=recipe.seed,
    )
    held = parted(state.weighter_state)[1].values()
    ranks.check_agreement([*state.params.values(), *state.optimizer.slots, *held])
    spent = now.training_seconds + time.perf_counter() - began
    return replace(now, state=state, training_seconds=spent), records


def _looked_at(
    setup: Setup, now: Checkpoint, before: int, reporter: Reporter
) -> tuple[Checkpoint, list[Record]]:
    """Run what is due after a window that began at step `before`.

    That is the check of trusted tasks, the validation and the probes.
    """
    recipe, step = setup.recipe, now.state.step
    every = recipe.validation.every
    left_out = now.state.trust.left_out
    now, checks = trust_checked(setup, now, before)
    records: list[Record] = [*checks]
    if now.state.trust.left_out != left_out:
        reporter.noted(step, checks[-1].check.sentence())
    if _crosses(every, before, step) or (every and step >= recipe.training.steps):
        now, validation = validated(setup, now, reporter)
        records.append(validation)
    return now, [*records, *_probe_records(setup, now, before)]


def _done(recipe: Recipe, now: Checkpoint) -> bool:
    patience = recipe.validation.patience
    return now.state.step >= recipe.training.steps or 0 < patience <= now.since_best


def _crosses(every: int, before: int, after: int) -> bool:
    return every > 0 and before // every != after // every


def _probe_records(setup: Setup, now: Checkpoint, before: int) -> list[ProbeRecord]:
    """Plan the probe windows at the current parameters; nothing is learnt from the plans."""
    records: list[ProbeRecord] = []
    for fixed in setup.probes:
        if before >= 0 and not _crosses(fixed.probe.every, before, now.state.step):
            continue
        plan = setup.probe_weighter.plan(
            setup.objective, now.state.params, now.state.optimizer, fixed.window
        )
        records.append(
            ProbeRecord(
                step=now.state.step,
                name=fixed.probe.name,
                weights=plan.weights.tolist(),
                losses=plan.losses.tolist(),
                tasks=[[task_info(task) for task in batch] for batch in fixed.window],
                plan=plan_statistics(plan, fixed.window),
            )
        )
    return records
