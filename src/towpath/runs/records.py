"""The records of a run, one for each line of `records.jsonl`.

A record is a mini-batch that was trained on (`StepRecord`), a window that could not be
(`SkippedWindow`), a validation (`ValidationRecord`), a plan of fixed tasks (`ProbeRecord`) or a
check of the trusted tasks (`TrustRecord`). Every line names its `kind`. Lines of towpath 0.1 do
not; `record_from_json` infers it for them, here and nowhere else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from towpath.runs.plain import (
    Json,
    JsonObject,
    count_at,
    figures_at,
    is_number,
    known_at,
    object_of,
)
from towpath.runs.plan_statistics import PlanStatistics
from towpath.runs.scores import ScoreSummary
from towpath.runs.trust import TrustCheck

TaskInfo: TypeAlias = Mapping[str, Json]
"""description of a task: index, group, classes, mislabelled; a user's task may add to it"""
STEP, SKIPPED, VALIDATION, PROBE, TRUST = "step", "skipped", "validation", "probe", "trust"


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall-clock time since the run began; the only part of a record that is not reproducible."""

    seconds: float | None = None
    training_seconds: float | None = None
    """planning and training alone, without validations and probes"""

    @property
    def trained(self) -> float | None:
        """The seconds of training, or those of the whole run where only they are known."""
        return self.seconds if self.training_seconds is None else self.training_seconds


@dataclass(frozen=True, slots=True)
class Event:
    """An unusual event in a window, such as a task whose loss was not finite."""

    text: str
    mini_batch: int | None = None
    task: int | None = None
    """index in the mini-batch, where the event concerns one task"""

    def as_json(self) -> dict[str, Json]:
        """Return the event as plain values; its place is left out where it is unknown."""
        content: dict[str, Json] = {"event": self.text}
        if self.mini_batch is not None:
            content |= {"mini_batch": self.mini_batch, "task": self.task}
        return content


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A mini-batch of M tasks that was trained on, trusted ones included."""

    step: int
    window: int
    weights: Sequence[float]
    """[M]"""
    tasks: Sequence[TaskInfo]
    """[M]"""
    losses: Sequence[float | None]
    """[M], before the step; None for a task that was muted"""
    loss: float | None
    """their mean; None where every task was muted"""
    accuracies: Sequence[float | None] | None = None
    """[M]; None where the tasks have no classes"""
    accuracy: float | None = None
    plan: PlanStatistics | None = None
    """statistics of the window's plan, in the window's first record"""
    events: Sequence[Event] = ()
    """events of the window, in the window's first record"""
    clock: Clock | None = None

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the record."""
        content: dict[str, Json] = {
            "kind": STEP,
            "step": self.step,
            "window": self.window,
            "loss": self.loss,
            "losses": self.losses,
            "weights": self.weights,
            "tasks": self.tasks,
        }
        if self.accuracies is not None:
            content |= {"accuracy": self.accuracy, "accuracies": self.accuracies}
        if self.plan is not None:
            content["plan"] = self.plan.as_json()
        return content | _events_as_json(self.events) | _clock_as_json(self.clock)


@dataclass(frozen=True, slots=True)
class SkippedWindow:
    """A window that was not trained on, with the events that explain why."""

    step: int
    window: int
    events: Sequence[Event] = ()
    clock: Clock | None = None

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the record."""
        content: dict[str, Json] = {"kind": SKIPPED, "step": self.step, "window": self.window}
        return content | _events_as_json(self.events) | _clock_as_json(self.clock)


@dataclass(frozen=True, slots=True)
class ValidationRecord:
    """The score on the validation tasks at a step."""

    step: int
    score: ScoreSummary
    best: bool
    """whether the score was the best so far"""
    clock: Clock | None = None

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the record."""
        content: dict[str, Json] = {
            "kind": VALIDATION,
            "step": self.step,
            "validation": {**self.score.as_json(), "best": self.best},
        }
        return content | _clock_as_json(self.clock)


@dataclass(frozen=True, slots=True)
class ProbeRecord:
    """The plan of a probe's T x M fixed tasks at a step; nothing was learnt from it."""

    step: int
    name: str
    weights: Sequence[Sequence[float]]
    """[T, M]"""
    losses: Sequence[Sequence[float | None]]
    """[T, M]"""
    tasks: Sequence[Sequence[TaskInfo]]
    """[T, M]"""
    plan: PlanStatistics | None = None
    clock: Clock | None = None

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the record."""
        content: dict[str, Json] = {
            "kind": PROBE,
            "step": self.step,
            "probe": self.name,
            "weights": self.weights,
            "losses": self.losses,
            "tasks": self.tasks,
        }
        if self.plan is not None:
            content["plan"] = self.plan.as_json()
        return content | _clock_as_json(self.clock)


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """A check of the trusted tasks after a step; step 0 is before training."""

    step: int
    check: TrustCheck
    clock: Clock | None = None

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the record."""
        content: dict[str, Json] = {"kind": TRUST, "step": self.step}
        return content | {"trust": self.check.as_json()} | _clock_as_json(self.clock)


WindowRecord: TypeAlias = "StepRecord | SkippedWindow"
"""the kinds of record that training on a window gives"""
Record: TypeAlias = "StepRecord | SkippedWindow | ValidationRecord | ProbeRecord | TrustRecord"


def clocked(record: Record, clock: Clock) -> Record:
    """Return a copy of the record with the time at which it was made."""
    return replace(record, clock=clock)


def record_from_json(content: JsonObject) -> Record:
    """Return the record of a line; raise ValueError, TypeError or KeyError if it is no record."""
    kind = content["kind"] if "kind" in content else _kind_in_0_1(content)
    read = READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise ValueError(f"its kind is {kind!r}; expected one of {', '.join(READERS)}")
    return read(content)


def _kind_in_0_1(content: JsonObject) -> str:
    """Infer the kind of a line that towpath 0.1 wrote from the keys that it has."""
    if "validation" in content:
        return VALIDATION
    if "probe" in content:
        return PROBE
    return STEP if "weights" in content else SKIPPED


def _step(content: JsonObject) -> StepRecord:
    weights, tasks, losses = content["weights"], content["tasks"], figures_at(content, "losses")
    if not isinstance(weights, list) or not isinstance(tasks, list):
        raise TypeError("weights and tasks are lists")
    if not len(weights) == len(tasks) == len(losses) >= 1:
        raise ValueError("weights, tasks and losses of different numbers of tasks")
    if not (all(map(is_number, weights)) and all(isinstance(task, dict) for task in tasks)):
        raise TypeError("weights are numbers, tasks are described by name")
    accuracies = None if content.get("accuracies") is None else figures_at(content, "accuracies")
    if accuracies is not None and len(accuracies) != len(weights):
        raise ValueError("weights and accuracies of different numbers of tasks")
    return StepRecord(
        step=count_at(content, "step"),
        window=_window(content),
        weights=weights,
        tasks=tasks,
        losses=losses,
        loss=known_at(content, "loss"),
        accuracies=accuracies,
        accuracy=known_at(content, "accuracy"),
        plan=_plan(content),
        events=_events(content),
        clock=_clock(content),
    )


def _skipped(content: JsonObject) -> SkippedWindow:
    step = count_at(content, "step")
    return SkippedWindow(step, _window(content), _events(content), _clock(content))


def _validation(content: JsonObject) -> ValidationRecord:
    found = object_of(content["validation"], "a score")
    score = ScoreSummary.from_json({"metric": "accuracy", **found})
    best = bool(found.get("best", False))
    return ValidationRecord(count_at(content, "step"), score, best, _clock(content))


def _probe(content: JsonObject) -> ProbeRecord:
    weights, losses, tasks = content["weights"], content.get("losses", []), content["tasks"]
    shape = _shape(weights, "weights")
    if not shape or 0 in shape or _shape(tasks, "tasks") != shape:
        raise ValueError("weights and tasks of a probe of different numbers of tasks")
    _shape(losses, "losses")
    return ProbeRecord(
        step=count_at(content, "step"),
        name=str(content["probe"]),
        weights=weights,  # type: ignore[arg-type]  # lists of lists, as was just seen
        losses=losses,  # type: ignore[arg-type]
        tasks=tasks,  # type: ignore[arg-type]
        plan=_plan(content),
        clock=_clock(content),
    )


def _trust(content: JsonObject) -> TrustRecord:
    check = TrustCheck.from_json(object_of(content["trust"], "a check of trusted tasks"))
    return TrustRecord(count_at(content, "step"), check, _clock(content))


READERS: Mapping[str, Callable[[JsonObject], Record]] = {
    STEP: _step,
    SKIPPED: _skipped,
    VALIDATION: _validation,
    PROBE: _probe,
    TRUST: _trust,
}


def _shape(value: Json, what: str) -> list[int]:
    """Return the lengths of the rows of a list of lists."""
    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        raise TypeError(f"{what} of a probe are not a list for each mini-batch")
    return [len(row) for row in value]


def _window(content: JsonObject) -> int:
    return count_at(content, "window") if "window" in content else 0


def _plan(content: JsonObject) -> PlanStatistics | None:
    plan = content.get("plan")
    return PlanStatistics.from_json(object_of(plan, "a plan")) if plan else None


def _events(content: JsonObject) -> Sequence[Event]:
    found = content.get("events")
    if not found:
        return ()
    if not isinstance(found, list):
        raise TypeError("events are not a list")
    return [_event(object_of(one, "an event")) for one in found]


def _event(content: JsonObject) -> Event:
    place = [
        v if isinstance(v := content.get(key), int) else None for key in ("mini_batch", "task")
    ]
    return Event(str(content.get("event", content)), *place)


def _events_as_json(events: Sequence[Event]) -> dict[str, Json]:
    return {"events": [event.as_json() for event in events]} if events else {}


def _clock(content: JsonObject) -> Clock | None:
    found = content.get("timing")
    if not found:
        return None
    timing = object_of(found, "the clock")
    return Clock(known_at(timing, "seconds"), known_at(timing, "training_seconds"))


def _clock_as_json(clock: Clock | None) -> dict[str, Json]:
    if clock is None:
        return {}
    return {"timing": {"seconds": clock.seconds, "training_seconds": clock.training_seconds}}
