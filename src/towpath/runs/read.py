"""A run folder as the report needs it: read once, whatever state it is in, saying what is missing.

Nothing but the folder is read: no data set, and of a checkpoint only which run and which records it
belongs to. A run that is still going on, was cut off or has not begun is a run with less to show,
never an error.
"""

import gc
import json
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from towpath.recipes.recipe import Recipe
from towpath.runs.folder import CONFIG, EVALUATIONS, RunFolder
from towpath.runs.identity import KEY
from towpath.training.checkpoint import check_origin
from towpath.training.evaluation import Score

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Check:
    """A validation during training."""

    step: int
    score: float
    seconds: float | None
    """seconds of training so far, without the validations"""
    tasks: int
    """tasks trained on so far"""
    metric: str


@dataclass(frozen=True)
class PlanLine:
    """What a window's plan said of itself."""

    step: int
    figures: dict[str, Any]


@dataclass(frozen=True)
class ProbeLine:
    """Weights of a probe window at a step."""

    step: int
    weights: list[list[float]]
    tasks: list[list[dict[str, Any]]]


@dataclass
class RunData:
    """Everything that the report shows of a run."""

    name: str
    """name of the folder"""
    recipe: Recipe | None = None
    made_with: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] | None = None
    scores: dict[str, Score] = field(default_factory=dict)
    """per-task results, by test set"""
    missing: list[str] = field(default_factory=list)
    """sentences"""
    has_digests: bool = True
    """whether changes to the folder can be noticed; false for one of towpath 0.1"""
    # along the steps
    steps: int = 0
    tasks: int = 0
    seconds: float | None = None
    losses: Points = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    plans: list[PlanLine] = field(default_factory=list)
    probes: dict[str, list[ProbeLine]] = field(default_factory=dict)
    events: list[tuple[int, str]] = field(default_factory=list)
    # weights, always over the mean of their mini-batch
    clean: Points = field(default_factory=list)
    wrong: Points = field(default_factory=list)
    groups: dict[str, tuple["array[float]", "array[float]"]] = field(default_factory=dict)
    """group -> steps, relative weights"""
    deviations: Points = field(default_factory=list)
    """(step, |u_t - 1/M|_2)"""
    batch: int = 0
    """M as trained, trusted tasks included"""
    largest_loss: float = 0.0
    last: list[dict[str, Any]] = field(default_factory=list)
    """records of the last window with weights"""

    @property
    def finished(self) -> bool:
        """Whether the run has its final figures."""
        return self.summary is not None

    @property
    def weighter(self) -> str:
        """Name of the weighter, as far as it is known."""
        return self.recipe.weighter.name if self.recipe else self.name

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.recipe.seed if self.recipe else 0

    @property
    def delta(self) -> float | None:
        """max_t |u_t - 1/M|_2."""
        return max((d for _, d in self.deviations), default=None)

    @property
    def weighs(self) -> bool:
        """Whether any task ever got another weight than its neighbours."""
        return any(d > 1e-6 for _, d in self.deviations)

    @property
    def asked_steps(self) -> int | None:
        """Steps that the configuration asks for."""
        return self.recipe.training.steps if self.recipe else None


def read_run(path: Path) -> RunData:
    """The run in a folder, as far as it got."""
    run = RunData(path.resolve().name)
    folder = RunFolder(path)
    if (path / CONFIG).is_file():
        try:
            run.recipe, run.made_with = folder.config()
        except ValueError as error:
            run.missing.append(f"its configuration cannot be used ({_line(error)})")
        else:
            run.missing += _strangers(folder)
            run.has_digests = KEY in run.made_with
    else:
        run.missing.append(f"there is no {CONFIG}: nothing is known of how it was made")
    with _no_garbage_collection():
        for number, record in enumerate(_records(folder, run), 1):
            try:
                _add(run, record)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError):
                run.missing.append(
                    f"line {number} of its records is not what towpath writes; what stands before "
                    "it is shown"
                )
                break
    _add_results(folder, run)
    return run


def _strangers(folder: RunFolder) -> list[str]:
    """Sentences on checkpoints or records that are not this run's."""
    try:
        check_origin(folder)
    except ValueError as error:
        return [_line(error).rstrip(".")]
    return []


def _add_results(folder: RunFolder, run: RunData) -> None:
    try:
        run.summary = folder.summary()
        for name, scores in (folder.evaluations() or {}).items():
            accuracies = scores["accuracies"]
            run.scores[name] = Score(
                None if accuracies is None else np.asarray(accuracies, dtype=np.float64),
                np.asarray(scores["losses"], dtype=np.float64),
            )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
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
    """Records are many small objects without cycles; looking for cycles doubles the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _records(folder: RunFolder, run: RunData) -> Iterator[dict[str, Any]]:
    """The records up to the first line that is damaged, which is told."""
    if not folder.records_path.is_file():
        run.missing.append("there are no records: training has not begun")
        return
    decode = json.JSONDecoder().decode
    number = 0
    with folder.records_path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = decode(line.decode("utf-8")) if line.endswith(b"\n") else None
            except ValueError:
                record = None
            if not isinstance(record, dict):
                run.missing.append(
                    f"line {number} of its records is cut off or damaged; what stands before it "
                    "is shown"
                )
                return
            yield record
    if number == 0:
        run.missing.append("its records are empty: training has not begun")


def _add(run: RunData, record: dict[str, Any]) -> None:
    step = int(record.get("step", 0))
    timing = record.get("timing") or {}
    for event in record.get("events", ()):
        run.events.append((step, str(event.get("event", event))))
    if "validation" in record:
        said = record["validation"]
        if said.get("mean") is not None:
            seconds = timing.get("training_seconds", timing.get("seconds"))
            run.checks.append(
                Check(step, said["mean"], seconds, run.tasks, said.get("metric", "accuracy"))
            )
    elif "probe" in record:
        line = ProbeLine(step, record["weights"], record.get("tasks", []))
        run.probes.setdefault(record["probe"], []).append(line)
    elif "weights" in record:
        _add_weights(run, step, record)
        run.steps = max(run.steps, step)
        run.seconds = timing.get("training_seconds", run.seconds)
        if record.get("loss") is not None:
            run.losses.append((step, record["loss"]))
        if record.get("plan"):
            run.plans.append(PlanLine(step, record["plan"]))
        if run.last and run.last[-1].get("window") != record.get("window"):
            run.last = []
        run.last.append(record)


def _add_weights(run: RunData, step: int, record: dict[str, Any]) -> None:
    weights: list[float] = record["weights"]
    M = len(weights)
    uniform = 1 / M
    run.deviations.append((step, sum((w - uniform) ** 2 for w in weights) ** 0.5))
    run.batch = M
    run.tasks += M
    for loss in record.get("losses", ()):
        if loss is not None and loss > run.largest_loss:
            run.largest_loss = loss
    mean = sum(weights) / M
    if not mean:
        return
    totals, counts = [0.0, 0.0], [0, 0]
    for weight, task in zip(weights, record.get("tasks", ()), strict=False):
        if task.get("trusted"):
            continue  # known to be right: they are not what is judged
        relative = weight / mean
        wrong = 1 if task.get("mislabelled") else 0
        totals[wrong] += relative
        counts[wrong] += 1
        group = task.get("group")
        if group is not None:
            name = group if isinstance(group, str) else str(group)
            if name not in run.groups:
                run.groups[name] = (array("d"), array("d"))
            steps, values = run.groups[name]
            steps.append(step)
            values.append(relative)
    if counts[0]:
        run.clean.append((step, totals[0] / counts[0]))
    if counts[1]:
        run.wrong.append((step, totals[1] / counts[1]))
