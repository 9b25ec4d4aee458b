"""What a rollout looks at: the whole query sets of a window's tasks, or a part of them.

On the whole, every rollout is training. On a part, a trajectory that will be modelled is rolled out
on a share of each query set, mini-batches 2..T; the last one is the training itself, on whole
tasks, and watches the loss of every other task's part, so that costs are compared on the same
images. The first of these mini-batches may be left out (coasting): they say nothing, and the
optimiser goes on by its momentum.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from towpath.control import Work
from towpath.objective import Evaluation, Objective

HEAVY = 0.5
"""momentum (Adam: beta1) from which on early losses say little of a weight"""


def left_out_of(T: int, inertia: float) -> int:
    """How many of T mini-batches after the first need not be looked at.

    With momentum a weight moves the parameters little at first and more from step to step, so that
    the first losses after it hardly say what it does: a quarter of them is left out.
    """
    return (T - 1) // 4 if inertia >= HEAVY else 0


@dataclass(frozen=True, eq=False)
class Look:
    """The tasks of one mini-batch as a rollout evaluates them."""

    tasks: Sequence[Any]
    watched: Sequence[Any] | None = None
    """for each task a part whose loss is wanted besides, or None"""
    in_part: bool = False
    """whether the tasks are a part of their query sets: planned on, not trained on"""

    def work(self, sketches: int) -> Work:
        """What it costs to evaluate them, with so many sketches a task."""
        n = len(self.tasks)
        if self.in_part:
            return Work(sketches=n * sketches, parts=n)
        return Work(tasks=n, sketches=n * sketches)


class View(ABC):
    """What rollouts look at of a window of T mini-batches of M tasks."""

    window: Sequence[Sequence[Any]]
    share: float
    """share of each query set that is planned on"""
    in_part: bool
    coasts: range
    """mini-batches that a rollout to be modelled does not look at: their cost is unknown to it"""

    @abstractmethod
    def trains(self, *, derivatives: bool) -> bool:
        """Whether a rollout (with or without derivatives) is training: on whole tasks."""

    @abstractmethod
    def look(self, t: int, *, derivatives: bool, counts: bool) -> Look | None:
        """What a rollout evaluates at mini-batch t; None where it does not look at all.

        Args:
            t: the mini-batch.
            derivatives: whether the rollout will be modelled.
            counts: whether the losses of the mini-batch are part of the cost.
        """

    @abstractmethod
    def seen(self, t: int) -> Sequence[Any]:
        """The tasks of mini-batch t as a rollout to be modelled sees them."""

    @abstractmethod
    def counted(self, t: int, here: Evaluation, *, trains: bool) -> Tensor:
        """Losses `[m]`, float64, whose sum estimates the mini-batch's; none where it is unknown."""


@dataclass(frozen=True, eq=False)
class WholeView(View):
    """Whole query sets: every rollout is training."""

    window: Sequence[Sequence[Any]]
    share: float = field(default=1.0, init=False)
    in_part: bool = field(default=False, init=False)
    coasts: range = field(default=range(0), init=False)

    def trains(self, *, derivatives: bool) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def look(self, t: int, *, derivatives: bool, counts: bool) -> Look:  # noqa: ARG002
        """At all of the mini-batch."""
        return Look(self.window[t])

    def seen(self, t: int) -> Sequence[Any]:
        """The tasks themselves."""
        return self.window[t]

    def counted(self, t: int, here: Evaluation, *, trains: bool) -> Tensor:  # noqa: ARG002
        """All losses."""
        return here.losses.double()


@dataclass(frozen=True, eq=False)
class PartView(View):
    """A share of each query set but those of the first mini-batch, which is evaluated anyway."""

    window: Sequence[Sequence[Any]]
    parts: Sequence[Sequence[Any]]
    """the tasks with a share of their query sets"""
    share: float
    coasts: range = range(0)
    in_part: bool = field(default=True, init=False)

    def trains(self, *, derivatives: bool) -> bool:
        """A rollout that will be modelled is planning only."""
        return not derivatives

    def look(self, t: int, *, derivatives: bool, counts: bool) -> Look | None:
        """At the parts; in training at whole tasks, with every other part watched besides."""
        if t == 0:
            return Look(self.window[t])
        if derivatives:
            return None if t in self.coasts else Look(self.parts[t], in_part=True)
        if not counts or t in self.coasts:
            return Look(self.window[t])
        seen = self._watched(t)
        return Look(self.window[t], [p if i in seen else None for i, p in enumerate(self.parts[t])])

    def seen(self, t: int) -> Sequence[Any]:
        """The tasks with a share of their query sets."""
        return self.parts[t]

    def counted(self, t: int, here: Evaluation, *, trains: bool) -> Tensor:
        """Losses of the parts that are watched, in place of all."""
        if t in self.coasts and not trains:
            return here.losses.double()[:0]  # nobody looked
        if t == 0 or t in self.coasts:
            return here.losses.double()
        seen = self._watched(t)
        losses = here.losses if here.watched is None else here.watched
        return losses.double()[seen.start :: seen.step] * (len(losses) / len(seen))

    def _watched(self, t: int) -> range:
        """Tasks whose parts are watched: every other one says enough for a yes or no."""
        return range(t % 2 if len(self.window[t]) > 1 else 0, len(self.window[t]), 2)


def view_of(
    objective: Objective, window: Sequence[Sequence[Any]], share: float, coasting: int
) -> View:
    """The view on a share of each query set.

    Args:
        objective: knows the part of a task.
        window: T mini-batches of M tasks.
        share: more than 0 and at most 1.
        coasting: how many mini-batches after the first are not looked at, if the share is below 1.
    """
    if share >= 1:
        return WholeView(window)
    parts = [[objective.part(task, share) for task in batch] for batch in window]
    return PartView(window, parts, share, range(1, 1 + coasting))
