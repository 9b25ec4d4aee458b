"""What to check again: training tasks, classes and groups, those that were trusted least first.

A task's trust is its weight divided by the mean of its mini-batch. Where a weighter gives every
task the same weight, its loss is judged instead. Classes and groups are ranked by what they do to
the tasks that they are part of (`towpath.reports.ranking`): to their weights, or to their losses
where these tell the classes apart better. Where it is known which tasks were
mislabelled on purpose, the area under the ROC curve measures how well the order finds them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from towpath.data.pool import NO_GROUP
from towpath.data.registry import SETS
from towpath.metrics import area_under_curve
from towpath.recipes.recipe import Recipe
from towpath.reports.audit_words import AuditWords, words_of
from towpath.reports.ranking import Effect, Ranking, ranking
from towpath.runs.judged import JudgedTask, judged
from towpath.runs.records import Record, StepRecord

EQUAL = 1e-6
"""relative weights of a mini-batch that differ by less count as equal"""
AGAINST = 0.3
"""correlation of weights with losses from which a low weight means an easy task"""


@dataclass(frozen=True)
class Signal:
    """What tasks are judged by: their weights or their losses."""

    name: str
    singular: str
    column: str
    """heading of its column"""
    of: Callable[[JudgedTask], float | None]
    """the value of a task, 1 for the mean of its mini-batch; None where it is not known"""
    worst: int
    """-1 where the lowest value is the most suspect one, 1 where it is the highest"""
    words: str
    """how a reader is told that a task is suspect"""

    def suspicion(self, value: float) -> float:
        """Return a number that is larger for a more suspect value."""
        return self.worst * value


WEIGHTS = Signal("weights", "weight", "weight / mean", lambda task: task.trust, -1, "trusted least")
LOSSES = Signal(
    "losses", "loss", "loss / mean", lambda task: task.loss, 1, "with the highest losses"
)
SIGNALS = {signal.name: signal for signal in (WEIGHTS, LOSSES)}


@dataclass(frozen=True)
class Audit:
    """The judged tasks of some last steps of training, the most suspect first."""

    tasks: list[JudgedTask]
    first_step: int
    last_step: int
    signal: Signal = WEIGHTS
    labels_known: bool = True
    """whether a task that was not mislabelled on purpose is known to be right"""
    reason: str = ""
    """why these values are judged, where it is not obvious"""
    rivals: tuple[Signal, ...] = ()
    """signals by which classes may be ranked instead, if they tell them apart better"""

    @cached_property
    def words(self) -> AuditWords:
        """What things are called: classes and tasks, or a table's tasks and episodes."""
        return words_of(self.tasks)

    def value(self, task: JudgedTask) -> float:
        """Return the value by which a task is judged."""
        return _value(task, self.signal)

    def labels(self, task: JudgedTask) -> str:
        """Return what is known of a task: wrong, off target, clean or unknown."""
        if task.mislabelled:
            return "off target" if task.info.get("off_target") else "wrong"
        return "clean" if self.labels_known else "unknown"

    @property
    def wrong_tasks(self) -> str:
        """What the tasks are called that were made wrong on purpose."""
        kinds = {self.labels(task) for task in self.tasks if task.mislabelled}
        names = [("wrong", "mislabelled"), ("off target", "off-target")]
        return f"{' and '.join(name for kind, name in names if kind in kinds)} {self.words.drawn}s"

    @property
    def area_under_curve(self) -> float | None:
        """The chance that a mislabelled task comes before a clean one; None if unknown."""
        bad = [task.mislabelled for task in self.tasks]
        if not any(bad) or all(bad):
            return None
        return area_under_curve(
            [self.signal.suspicion(self.value(task)) for task in self.tasks], bad
        )

    @cached_property
    def _by_class(self) -> dict[Signal, Ranking]:
        amounts = [dict.fromkeys(units(task), 1.0) for task in self.tasks]
        return {
            signal: ranking([_value(task, signal) for task in self.tasks], amounts)
            for signal in (self.signal, *self.rivals)
        }

    @cached_property
    def class_signal(self) -> Signal:
        """What classes and groups are ranked by: the signal that tells the classes apart best."""
        return max(self._by_class, key=lambda signal: self._by_class[signal].reliability)

    @property
    def class_reason(self) -> str:
        """Why classes are ranked by another signal than tasks; empty where they are not."""
        if self.class_signal is self.signal:
            return ""
        best, own = (
            f"{self._by_class[signal].reliability:.2f}"
            for signal in (self.class_signal, self.signal)
        )
        better = (
            f"better than {self.signal.name} do (reliability {best} against {own})"
            if best != own
            else f"about as well as {self.signal.name} do (reliability {best})"
        )
        return (
            f"{self.words.units.capitalize()} are ranked by {self.class_signal.name}, which tell "
            f"them apart {better}."
        )

    @property
    def classes(self) -> list[Effect]:
        """The classes of the tasks, or the names of table tasks, the most suspect first."""
        return self._ordered(self._by_class[self.class_signal])

    @cached_property
    def groups(self) -> list[Effect]:
        """The groups of the tasks, the most suspect first; empty where there are fewer than two.

        The value of a group is that of a task with classes of this group only.
        """
        shares = [group_shares(task) for task in self.tasks]
        if len({name for own in shares for name in own}) < 2:
            return []
        values = [_value(task, self.class_signal) for task in self.tasks]
        return self._ordered(ranking(values, shares))

    def suspects(self) -> list[Effect]:
        """Return the classes whose whole interval is on the suspect side of the average task."""
        return [effect for effect in self.classes if self.is_suspect(effect)]

    def is_suspect(self, effect: Effect) -> bool:
        """Return whether the whole interval is on the suspect side of the average task."""
        signal = self.class_signal
        away = signal.suspicion(effect.value) - signal.suspicion(effect.mean)
        return effect.differs and away > 0

    def _ordered(self, found: Ranking) -> list[Effect]:
        return found.effects if self.class_signal.worst < 0 else found.effects[::-1]


def _value(task: JudgedTask, signal: Signal) -> float:
    """Return the value of a task; that of an average one where it is not known."""
    value = signal.of(task)
    return 1.0 if value is None else value


def labels_known(recipe: Recipe) -> bool:
    """Return whether a task that was not made wrong on purpose is known to be right.

    It is where noise was added to a set that is published as clean; of a folder or table of the
    user's, or of data as they are, nobody knows.
    """
    noisy = recipe.episodes.label_noise > 0 or bool(recipe.data.options.get("mix"))
    return noisy and recipe.data.name in SETS


def units(task: JudgedTask) -> tuple[str, ...]:
    """Return the names that are ranked: a task's classes, or the one table column that it is."""
    name = task.info.get("task")
    return (str(name),) if name else task.classes


def class_names(task: JudgedTask) -> str:
    """Return the names of a task's classes for people, without a group that all of them share."""
    prefix = f"{task.group}/"
    shared = bool(task.group) and all(name.startswith(prefix) for name in task.classes)
    return ", ".join(name.removeprefix(prefix) if shared else name for name in task.classes)


def group_shares(task: JudgedTask) -> dict[str, float]:
    """Return the share of each group in a task, by the task's own group or those of its classes.

    Classes without a group count nowhere.
    """
    if task.group and task.group != NO_GROUP:
        return {task.group: 1.0}
    found = Counter(task.class_groups)
    found.pop("", None)
    return {name: count / len(task.classes) for name, count in found.items()}


def audit(
    records: Iterable[Record],
    last: int | None = None,
    *,
    by: Signal | None = None,
    labels_known: bool = True,
) -> Audit | None:
    """Audit the tasks of the last steps of a run.

    Args:
        records: the records of the run.
        last: number of steps to audit, counted from the end; None for all.
        by: what to judge tasks and classes by; None for the weights of tasks, or for the losses
            where all weights are equal and say nothing, and for the better of the two for classes.
        labels_known: whether tasks that were not mislabelled on purpose are known to be right; not
            so for a folder of the user's.

    Returns:
        the audit, or None if no task was weighted.
    """
    weighed = [record for record in records if isinstance(record, StepRecord)]
    weighed = weighed[-last:] if last is not None else weighed
    batches = [list(judged(record)) for record in weighed]
    tasks = [task for batch in batches for task in batch]
    if not tasks:
        return None
    signal, reason = (by, "") if by is not None else _chosen(batches)
    if signal is LOSSES:
        tasks = [task for task in tasks if task.loss is not None] or tasks
    steps = weighed[0].step, weighed[-1].step
    rivals = (LOSSES,) if by is None and signal is not LOSSES else ()
    found = Audit(tasks, *steps, signal, labels_known, reason, rivals)
    tasks.sort(key=lambda task: -signal.suspicion(found.value(task)))
    return found


def _chosen(batches: Sequence[Sequence[JudgedTask]]) -> tuple[Signal, str]:
    """Return what to judge by, and a sentence where it is not simply the weights."""
    if all(_equal([task.trust for task in batch]) for batch in batches if batch):
        return LOSSES, "All weights are equal, which says nothing, so that losses are judged."
    if any("off_target" in task.info for batch in batches for task in batch):
        return WEIGHTS, ""  # a set that is easier has lower losses, whatever it is worth
    both = [(task.trust, task.loss) for batch in batches for task in batch if task.loss is not None]
    trust, loss = np.array(both).T if both else (np.zeros(1), np.zeros(1))
    if trust.std() > 0 and loss.std() > 0 and np.corrcoef(trust, loss)[0, 1] > AGAINST:
        return LOSSES, (
            "This weighter gave tasks of high loss more weight, so that a low weight marks an easy "
            "task; losses are judged."
        )
    return WEIGHTS, ""


def _equal(weights: Sequence[float]) -> bool:
    return max(weights) - min(weights) < EQUAL
