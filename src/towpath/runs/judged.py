"""The trust that weights express in tasks: each weight divided by the mean of its mini-batch.

Trusted tasks are known to be right and are not judged: they count in the mean of the weights, and
nowhere else. Losses are relative to the mean of the judged tasks, because those of trusted tasks,
which are seen again and again, fall.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from towpath.data.noise.damage import mostly_wrong
from towpath.data.pool import NO_GROUP
from towpath.runs.plain import Json, JsonObject, figure_at
from towpath.runs.records import Record, StepRecord, TaskInfo


@dataclass(frozen=True, slots=True)
class JudgedTask:
    """A training task that is not a trusted one, and the trust that the weights put in it."""

    step: int
    trust: float
    """weight divided by the mini-batch's mean; 0 where all weights of the mini-batch are 0"""
    info: TaskInfo
    loss: float | None = None
    """loss divided by the mean of the mini-batch's judged tasks; None for a muted task"""

    @property
    def mislabelled(self) -> bool:
        """Whether the task was made wrong on purpose: mislabelled, or of another set.

        Where noise sits in the images or classes of the pool, nearly every task has some wrong
        labels; those count that have at least as many wrong labels as right ones.
        """
        return mostly_wrong(self.info)

    @property
    def wrong(self) -> float | None:
        """The share of the task's labels that are wrong on purpose; None in old records."""
        share = self.info.get("wrong")
        return float(share) if isinstance(share, int | float) else None

    @property
    def index(self) -> int:
        """The task's position in the stream of training tasks; -1 where it is not recorded."""
        index = self.info.get("index", -1)
        return index if isinstance(index, int) else -1

    @property
    def group(self) -> str | None:
        """The group of classes (such as an alphabet) of the task; None where it is not recorded.

        Where sets are mixed, a task's group is the set that it comes from.
        """
        group = self.info.get("set" if "off_target" in self.info else "group")
        return None if group is None else str(group)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the task's classes; empty where they are not recorded."""
        return recorded_classes(self.info)

    @property
    def class_groups(self) -> tuple[str, ...]:
        """The group of each of the task's classes; empty for a class without a group."""
        return class_groups(self.info)


def recorded_classes(info: TaskInfo) -> tuple[str, ...]:
    """Return the names of a task's classes; empty where they are not recorded."""
    classes = info.get("classes", ())
    return tuple(map(str, classes)) if isinstance(classes, list | tuple) else ()


def class_groups(info: TaskInfo) -> tuple[str, ...]:
    """Return the group of each of a task's classes; empty for a class without a group.

    Args:
        info: what a task records of itself. Tasks of images across groups record the group of each
            class; those of old runs do not, and their classes are called `group/class`. Names in a
            table are the user's, and a slash in one means nothing.
    """
    names, group, groups = recorded_classes(info), info.get("group"), info.get("class_groups")
    if group and group != NO_GROUP:
        return (str(group),) * len(names)
    if isinstance(groups, list | tuple) and len(groups) == len(names):
        return tuple(map(str, groups))
    if is_table_task(info):
        return ("",) * len(names)
    return tuple(name.rpartition("/")[0] for name in names)


def is_table_task(info: TaskInfo) -> bool:
    """Return whether a task was drawn from a table, whose tasks record which one they are."""
    return "task" in info


def judged(record: StepRecord) -> Iterator[JudgedTask]:
    """Yield the tasks of a mini-batch that are not trusted ones, in their order."""
    mean = sum(record.weights) / len(record.weights)
    rows = zip(record.weights, record.losses, record.tasks, strict=True)
    own = [row for row in rows if not row[2].get("trusted")]
    known = [loss for _, loss, _ in own if loss is not None]
    usual = sum(known) / len(known) if known else 0.0
    for weight, loss, info in own:
        trust = weight / mean if mean else 0.0
        relative = loss / usual if loss is not None and usual else None
        yield JudgedTask(record.step, trust, info, relative)


@dataclass(frozen=True)
class WeightByLabel:
    """The mean trust in mislabelled tasks and in clean tasks."""

    mislabelled: float
    clean: float

    @property
    def ratio(self) -> float:
        """Trust in mislabelled tasks divided by trust in clean ones; 0 where the latter is 0."""
        return self.mislabelled / self.clean if self.clean else 0.0

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the figures."""
        return {"mislabelled": self.mislabelled, "clean": self.clean, "ratio": self.ratio}

    @classmethod
    def from_json(cls, content: JsonObject) -> "WeightByLabel":
        """Return the figures that a summary holds; raise TypeError or KeyError if incomplete."""
        return cls(figure_at(content, "mislabelled"), figure_at(content, "clean"))


def weight_by_label(records: Iterable[Record]) -> WeightByLabel | None:
    """Return the mean trust in mislabelled and in clean tasks, over all mini-batches.

    The result is None where no task, or every task, was mislabelled on purpose.
    """
    totals = {True: 0.0, False: 0.0}
    counts = {True: 0, False: 0}
    for record in records:
        for task in judged(record) if isinstance(record, StepRecord) else ():
            totals[task.mislabelled] += task.trust
            counts[task.mislabelled] += 1
    if not counts[True] or not counts[False]:
        return None
    return WeightByLabel(totals[True] / counts[True], totals[False] / counts[False])
