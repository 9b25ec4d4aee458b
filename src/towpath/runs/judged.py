"""Tasks as their weights judge them: the weight of each over the mean of its mini-batch.

Trusted tasks are known to be right and are not judged: they count in the mean, and nowhere else.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from towpath.runs.plain import Json, JsonObject, figure_at
from towpath.runs.records import Record, StepRecord, TaskInfo


@dataclass(frozen=True, slots=True)
class JudgedTask:
    """A training task that nobody vouches for, and how far the weights trusted it."""

    step: int
    trust: float
    """its weight over its mini-batch's mean; 0 where no task of the mini-batch weighs anything"""
    info: TaskInfo

    @property
    def mislabelled(self) -> bool:
        """Whether its labels were made wrong on purpose."""
        return bool(self.info.get("mislabelled"))

    @property
    def index(self) -> int:
        """Its place in the stream of tasks; -1 where it does not say."""
        index = self.info.get("index", -1)
        return index if isinstance(index, int) else -1

    @property
    def group(self) -> str | None:
        """The group of classes that it was drawn from, if it names one."""
        group = self.info.get("group")
        return None if group is None else str(group)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of its classes."""
        classes = self.info.get("classes", ())
        return tuple(map(str, classes)) if isinstance(classes, list | tuple) else ()


def judged(record: StepRecord) -> Iterator[JudgedTask]:
    """The tasks of a mini-batch that are judged, in their order."""
    mean = sum(record.weights) / len(record.weights)
    for weight, info in zip(record.weights, record.tasks, strict=True):
        if not info.get("trusted"):
            yield JudgedTask(record.step, weight / mean if mean else 0.0, info)


@dataclass(frozen=True)
class WeightByLabel:
    """Mean trust in mislabelled and in clean tasks."""

    mislabelled: float
    clean: float

    @property
    def ratio(self) -> float:
        """Trust in mislabelled tasks over that in clean ones; 0 where the latter is 0."""
        return self.mislabelled / self.clean if self.clean else 0.0

    def as_json(self) -> dict[str, Json]:
        """The plain values that `from_json` takes."""
        return {"mislabelled": self.mislabelled, "clean": self.clean, "ratio": self.ratio}

    @classmethod
    def from_json(cls, content: JsonObject) -> "WeightByLabel":
        """The figures of a summary."""
        return cls(figure_at(content, "mislabelled"), figure_at(content, "clean"))


def weight_by_label(records: Iterable[Record]) -> WeightByLabel | None:
    """Mean trust by label over all mini-batches; None where no task, or every one, was mislabelled
    on purpose."""
    totals = {True: 0.0, False: 0.0}
    counts = {True: 0, False: 0}
    for record in records:
        for task in judged(record) if isinstance(record, StepRecord) else ():
            totals[task.mislabelled] += task.trust
            counts[task.mislabelled] += 1
    if not counts[True] or not counts[False]:
        return None
    return WeightByLabel(totals[True] / counts[True], totals[False] / counts[False])
