"""The part of a window that a rollout evaluates: whole query sets of its tasks, or a share of them.

On whole query sets, every rollout is training. On a share, a trajectory that will be modelled is
rolled out on that share of each query set, for mini-batches 2..T; the last rollout is the training
itself, on whole tasks, and monitors the loss on every other task's share, so that costs are
compared on the same images. The first of these mini-batches may be left out (coasting): their
losses carry little information, and the optimiser continues by its momentum.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from towpath.control import Work
from towpath.dynamics import OptimiserState
from towpath.flat import Layout
from towpath.objective import Evaluation, Objective

HEAVY = 0.5
"""momentum (Adam: beta1) from which on early losses hardly depend on a weight"""


FEW = 0.02
"""share of the coordinates that a costate may lack"""


def put_aside(layout: Layout, optimizer: OptimiserState) -> frozenset[str]:
    """Return the first parameters, as long as they are few: a costate can do without them.

    Their gradient is the end of the backward pass, and where the first layer has the largest images
    a third of its cost. Adam and its relatives move every coordinate by about as much, so that few
    coordinates matter little; under other optimisers they may matter more, and none are left out.
    """
    if not any("sq" in name for name in optimizer.dynamics.slot_names):
        return frozenset()
    room, found = FEW * layout.total, []
    for name, size in zip(layout.names, layout.sizes, strict=True):
        room -= size
        if room < 0:
            break
        found.append(name)
    return frozenset(found)


def left_out_of(T: int, inertia: float) -> int:
    """Return how many of T mini-batches after the first need not be evaluated.

    With momentum a weight moves the parameters little at first and more from step to step, so that
    the first losses after it hardly show its effect: a quarter of them is left out.
    """
    return (T - 1) // 4 if inertia >= HEAVY else 0


@dataclass(frozen=True, eq=False)
class Look:
    """The tasks of one mini-batch as a rollout evaluates them."""

    tasks: Sequence[Any]
    watched: Sequence[Any] | None = None
    """for each task a part whose loss is monitored as well, or None"""
    in_part: bool = False
    """whether the tasks are a part of their query sets: planned on, not trained on"""

    def work(self, sketches: int) -> Work:
        """Return the work of evaluating them, with this number of sketches per task."""
        n = len(self.tasks)
        if self.in_part:
            return Work(sketches=n * sketches, parts=n)
        return Work(tasks=n, sketches=n * sketches)


class View(ABC):
    """Decides what rollouts evaluate of a window of T mini-batches of M tasks."""

    window: Sequence[Sequence[Any]]
    share: float
    """share of each query set that is planned on"""
    in_part: bool
    coasts: range
    """mini-batches that a rollout to be modelled does not evaluate: their cost is unknown to it"""

    @abstractmethod
    def trains(self, *, derivatives: bool) -> bool:
        """Return whether a rollout, with derivatives or without, is training on whole tasks."""

    @abstractmethod
    def look(self, t: int, *, derivatives: bool, counts: bool) -> Look | None:
        """Return what a rollout evaluates at mini-batch t, or None if nothing.

        Args:
            t: the number of the mini-batch.
            derivatives: whether the rollout will be modelled.
            counts: whether the losses of the mini-batch are part of the cost.
        """

    @abstractmethod
    def seen(self, t: int) -> Sequence[Any]:
        """Return the tasks of mini-batch t as a rollout that will be modelled evaluates them."""

    @abstractmethod
    def counted(self, t: int, here: Evaluation, *, trains: bool) -> Tensor:
        """Return losses `[m]`, float64, whose sum estimates the mini-batch's; empty if unknown."""


@dataclass(frozen=True, eq=False)
class WholeView(View):
    """A view of whole query sets, where every rollout is training."""

    window: Sequence[Sequence[Any]]
    share: float = field(default=1.0, init=False)
    in_part: bool = field(default=False, init=False)
    coasts: range = field(default=range(0), init=False)

    def trains(self, *, derivatives: bool) -> bool:  # noqa: ARG002
        """Return True, because every rollout evaluates whole tasks."""
        return True

    def look(self, t: int, *, derivatives: bool, counts: bool) -> Look:  # noqa: ARG002
        """Return all tasks of the mini-batch with their whole query sets."""
        return Look(self.window[t])

    def seen(self, t: int) -> Sequence[Any]:
        """Return the tasks of mini-batch t with their whole query sets."""
        return self.window[t]

    def counted(self, t: int, here: Evaluation, *, trains: bool) -> Tensor:  # noqa: ARG002
        """Return the losses of all tasks of the mini-batch."""
        return here.losses.double()


@dataclass(frozen=True, eq=False)
class PartView(View):
    """A view of a share of each query set, except in the first mini-batch, which is whole."""

    window: Sequence[Sequence[Any]]
    parts: Sequence[Sequence[Any]]
    """the tasks with a share of their query sets"""
    share: float
    coasts: range = range(0)
    in_part: bool = field(default=True, init=False)

    def trains(self, *, derivatives: bool) -> bool:
        """Return whether the rollout is training: one that will be modelled is not."""
        return not derivatives

    def look(self, t: int, *, derivatives: bool, counts: bool) -> Look | None:
        """Return the parts, or in training the whole tasks with every other part monitored."""
        if t == 0:
            return Look(self.window[t])
        if derivatives:
            return None if t in self.coasts else Look(self.parts[t], in_part=True)
        if not counts or t in self.coasts:
            return Look(self.window[t])
        seen = self._watched(t)
        return Look(self.window[t], [p if i in seen else None for i, p in enumerate(self.parts[t])])

    def seen(self, t: int) -> Sequence[Any]:
        """Return the tasks of mini-batch t with a share of their query sets."""
        return self.parts[t]

    def counted(self, t: int, here: Evaluation, *, trains: bool) -> Tensor:
        """Return the losses of the parts, which stand for those of the whole tasks."""
        if t in self.coasts and not trains:
            return here.losses.double()[:0]  # not evaluated, so the loss is unknown
        if t == 0 or t in self.coasts:
            return here.losses.double()
        seen = self._watched(t)
        losses = here.losses if here.watched is None else here.watched
        return losses.double()[seen.start :: seen.step] * (len(losses) / len(seen))

    def _watched(self, t: int) -> range:
        """Return the tasks whose parts are monitored: every other one is enough to decide."""
        return range(t % 2 if len(self.window[t]) > 1 else 0, len(self.window[t]), 2)


@dataclass(frozen=True, eq=False)
class FirstView(View):
    """A view of the first mini-batch alone: planning evaluates the window's others in training."""

    window: Sequence[Sequence[Any]]
    share: float = field(default=1.0, init=False)
    in_part: bool = field(default=False, init=False)

    @property
    def coasts(self) -> range:  # type: ignore[override]
        """All mini-batches but the first."""
        return range(1, len(self.window))

    def trains(self, *, derivatives: bool) -> bool:
        """Return whether the rollout is training: one that will be modelled is not."""
        return not derivatives

    def look(self, t: int, *, derivatives: bool, counts: bool) -> Look | None:  # noqa: ARG002
        """Return the whole tasks, or None where a rollout that will be modelled coasts."""
        return None if derivatives and t > 0 else Look(self.window[t])

    def seen(self, t: int) -> Sequence[Any]:
        """Return the tasks of mini-batch t with their whole query sets."""
        return self.window[t]

    def counted(self, t: int, here: Evaluation, *, trains: bool) -> Tensor:
        """Return the losses of the mini-batch; none where it was not evaluated."""
        return here.losses.double() if trains or t == 0 else here.losses.double()[:0]


def view_of(
    objective: Objective, window: Sequence[Sequence[Any]], share: float, coasting: int
) -> View:
    """Return the view on a share of each query set.

    Args:
        objective: cuts a task to a part of its query set.
        window: T mini-batches of M tasks.
        share: more than 0 and at most 1.
        coasting: how many mini-batches after the first are not evaluated, if the share is below 1.
    """
    if share >= 1:
        return WholeView(window)
    parts = [objective.parts(batch, share) for batch in window]
    return PartView(window, parts, share, range(1, 1 + coasting))
