"""Which losses a plan brings down, and at which states.

    own tasks   sum_t sum(l(x_t))                       the paper's cost: every mini-batch before
                                                        its step (replay: the last one after, too)
    targets     sum_t sum_{j in targets_t} l_j(x_{t+1}) trusted tasks after each step

A cost is an object, so that another one is a class:

    class LastMiniBatch(Cost):
        def counts(self, t, T):
            return t == T - 1

    tp.TOW(cost=LastMiniBatch())
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from towpath.weighters.muted import Muted
from towpath.weighters.tow.part import View


@dataclass(frozen=True, eq=False)
class CostTasks:
    """The tasks whose losses count at one state."""

    tasks: Sequence[Any]
    skip: set[int]
    """indices of the muted tasks"""
    in_part: bool = False
    """whether they are a part of their query sets"""


class Cost(ABC):
    """The losses that a plan minimises; a new cost defines at least which mini-batches count."""

    chance: ClassVar[float] = 2.0
    """Standard errors by which a trial on a part of the query sets may be above the nominal
    (docs/decisions.md, 9)."""

    @abstractmethod
    def counts(self, t: int, T: int) -> bool:
        """Return whether the losses of mini-batch t of T, before its step, are part of the cost."""

    def after(self, t: int, view: View, muted: Muted) -> CostTasks | None:  # noqa: ARG002
        """Return the tasks whose losses count after the step of mini-batch t, or None.

        Args:
            t: the number of the mini-batch.
            view: the window, as the plan evaluates it.
            muted: tasks and targets to leave out.
        """
        return None

    def muting(self, t: int, wrong: Sequence[int]) -> Muted:
        """Return what to mute if tasks of the cost after mini-batch t are not finite."""
        return Muted(tasks=frozenset((t, i) for i in wrong))

    @property
    def has_halves(self) -> bool:
        """Return whether the cost's tasks can be split into two halves to measure agreement."""
        return False

    def halves(self, t: int, J: Tensor) -> Tensor | None:  # noqa: ARG002
        """Return the gradients `[2, P]` of the two halves, from `J [n, P]` of the tasks after t."""
        return None


@dataclass(frozen=True)
class OwnTasks(Cost):
    """The losses of the window's own tasks, each mini-batch before its step."""

    replay: bool = False
    """whether the last mini-batch counts after its step, too"""

    def counts(self, t: int, T: int) -> bool:  # noqa: ARG002
        """Return True, because every mini-batch counts before its step."""
        return True

    def after(self, t: int, view: View, muted: Muted) -> CostTasks | None:
        """Return the tasks of the last mini-batch, if it is replayed, and None otherwise."""
        if not self.replay or t < len(view.window) - 1:
            return None
        return CostTasks(view.seen(t), muted.at(t), view.in_part)


@dataclass(frozen=True, eq=False)
class TargetTasks(Cost):
    """The losses of trusted tasks after each step; the window's own tasks do not count."""

    targets: Sequence[Sequence[Any]]
    """T lists, some of which may be empty"""
    # targets are whole, so chance plays a smaller part
    chance: ClassVar[float] = 1.0

    def counts(self, t: int, T: int) -> bool:  # noqa: ARG002
        """Return False, because no mini-batch of the window counts."""
        return False

    def after(self, t: int, view: View, muted: Muted) -> CostTasks | None:  # noqa: ARG002
        """Return the targets of the mini-batch, or None if it has none."""
        return CostTasks(self.targets[t], muted.targets_at(t)) if self.targets[t] else None

    def muting(self, t: int, wrong: Sequence[int]) -> Muted:
        """Return the targets to mute; tasks of the window are not part of this cost."""
        return Muted(targets=frozenset((t, i) for i in wrong))

    @property
    def has_halves(self) -> bool:
        """Return whether there are at least two targets in the whole window."""
        return sum(map(len, self.targets)) > 1

    def halves(self, t: int, J: Tensor) -> Tensor | None:
        """Return the gradients of the two halves, which take every other target each.

        One target per mini-batch is enough to make two halves of the window.
        """
        earlier = sum(1 for goals in self.targets[:t] if goals)
        first = earlier % 2
        return torch.stack([J[first::2].sum(0), J[1 - first :: 2].sum(0)])
