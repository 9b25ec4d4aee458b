"""Read a run folder once, whatever state it is in, noting what is missing.

Only the folder is read: no data set, and of a checkpoint only which run and which records it
belongs to. A run that is still going on, was cut off or has not begun is a run with less to show,
never an error.
"""

import gc
import math
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from towpath.runs.folder import CONFIG, EVALUATIONS, RunFolder
from towpath.runs.judged import judged
from towpath.runs.origin import check_origin
from towpath.runs.record_file import CutOffRecordError, DamagedRecordError, read_records
from towpath.runs.records import ProbeRecord, Record, StepRecord, TrustRecord, ValidationRecord
from towpath.runs.run_data import Check, PlanLine, RunData


def read_run(path: Path) -> RunData:
    """Read the run in a folder, as far as it got; what is missing is noted, never raised."""
    run = RunData(path.resolve().name, path=path)
    folder = RunFolder(path)
    if (path / CONFIG).is_file():
        try:
            run.recipe, run.made_with = folder.config()
        except ValueError as error:
            run.missing.append(f"its configuration cannot be used ({_line(error)})")
        else:
            run.missing += _strangers(folder)
            run.has_digests = run.made_with.identity is not None
    else:
        run.missing.append(f"there is no {CONFIG}: nothing is known of how it was made")
    with _no_garbage_collection():
        run.missing += _add_records(folder, run)
    _add_results(folder, run)
    return run


def _strangers(folder: RunFolder) -> list[str]:
    """Return sentences on checkpoints or records that are not this run's."""
    try:
        check_origin(folder)
    except ValueError as error:
        return [_line(error).rstrip(".")]
    return []


def _add_results(folder: RunFolder, run: RunData) -> None:
    try:
        run.summary = folder.summary()
        run.scores = folder.evaluations() or {}
        run.confusions = folder.confusions()
    except ValueError as error:
        run.missing.append(f"its final figures cannot be read ({_line(error)})")
    if run.summary is not None and not run.scores and not (folder.path / EVALUATIONS).exists():
        run.missing.append(
            f"it has no {EVALUATIONS}, so that its test results cannot be shown or compared; run: "
            f"towpath resume {folder.path}"
        )
    if run.summary is None:
        asked = f" of {run.asked_steps}" if run.asked_steps else ""
        state = f"it is at step {run.steps}{asked}" if run.steps else "it has trained no step yet"
        run.missing.append(f"it is not finished: {state}, and there are no test results")
    if run.steps and not run.checks:
        run.missing.append("it has no validation yet, so there is no learning curve")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause the collector: records have no cycles, and the search for them doubles the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _add_records(folder: RunFolder, run: RunData) -> list[str]:
    """Add the records up to the first damaged line; return sentences on what is missing."""
    if not folder.records_path.is_file():
        return ["there are no records: training has not begun"]
    found = False
    try:
        for record in read_records(folder.records_path):
            found = True
            _add(run, record)
    except CutOffRecordError as error:
        return [
            f"line {error.number} of its records is cut off or damaged; what stands before it is "
            "shown"
        ]
    except DamagedRecordError as error:
        return [
            f"line {error.number} of its records is not what towpath writes; what stands before it "
            "is shown"
        ]
    except ValueError as error:  # the file may not be readable
        return [_line(error).rstrip(".")]
    return [] if found else ["its records are empty: training has not begun"]


def _add(run: RunData, record: Record) -> None:
    if isinstance(record, ValidationRecord):
        if not math.isnan(record.score.mean):
            seconds = None if record.clock is None else record.clock.trained
            score = record.score
            run.checks.append(Check(record.step, score.mean, seconds, run.tasks, score.metric))
    elif isinstance(record, ProbeRecord):
        run.probes.setdefault(record.name, []).append(record)
    elif isinstance(record, TrustRecord):
        run.trust.append(record)
    else:
        run.events += [(record.step, event.text) for event in record.events]
        if isinstance(record, StepRecord):
            _add_step(run, record)


def _add_step(run: RunData, record: StepRecord) -> None:
    step = record.step
    run.steps = max(run.steps, step)
    if record.clock is not None and record.clock.training_seconds is not None:
        run.seconds = record.clock.training_seconds
    if record.loss is not None:
        run.losses.append((step, record.loss))
    if record.plan is not None:
        run.plans.append(PlanLine(step, record.plan))
    if run.last and run.last[-1].window != record.window:
        run.last = []
    run.last.append(record)
    M = len(record.weights)
    uniform = 1 / M
    run.deviations.append((step, sum((w - uniform) ** 2 for w in record.weights) ** 0.5))
    run.batch = M
    run.tasks += M
    for loss in record.losses:
        if loss is not None and loss > run.largest_loss:
            run.largest_loss = loss
    if sum(record.weights):  # without any weight there is no trust to measure
        _add_judged(run, record)


def _add_judged(run: RunData, record: StepRecord) -> None:
    """Add the weights of the tasks that are judged, by label and by group."""
    totals, counts = [0.0, 0.0], [0, 0]
    for task in judged(record):
        wrong = 1 if task.mislabelled else 0
        totals[wrong] += task.trust
        counts[wrong] += 1
        group = task.group
        if group is not None:
            if group not in run.groups:
                run.groups[group] = (array("d"), array("d"))
            steps, values = run.groups[group]
            steps.append(record.step)
            values.append(task.trust)
    if counts[0]:
        run.clean.append((record.step, totals[0] / counts[0]))
    if counts[1]:
        run.wrong.append((record.step, totals[1] / counts[1]))
