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
    """Tasks whose losses count at one state."""

    tasks: Sequence[Any]
    skip: set[int]
    """indices of muted ones"""
    in_part: bool = False
    """whether they are a part of their query sets"""


class Cost(ABC):
    """The losses that a plan brings down; a new cost says at least which mini-batches count."""

    chance: ClassVar[float] = 2.0
    """Standard errors by which a trial on a part of the query sets may be above the nominal
    (docs/decisions.md, 9)."""

    @abstractmethod
    def counts(self, t: int, T: int) -> bool:
        """Whether the losses of mini-batch t of T, before its step, are part of the cost."""

    def after(self, t: int, view: View, muted: Muted) -> CostTasks | None:  # noqa: ARG002
        """The tasks whose losses count after the step of mini-batch t; None for none.

        Args:
            t: the mini-batch.
            view: the window, as the plan looks at it.
            muted: tasks and targets to leave out.
        """
        return None

    def muting(self, t: int, wrong: Sequence[int]) -> Muted:
        """What to leave out where tasks of the cost after mini-batch t are not finite."""
        return Muted(tasks=frozenset((t, i) for i in wrong))

    @property
    def has_halves(self) -> bool:
        """Whether two halves of the cost's tasks can be asked whether they agree."""
        return False

    def halves(self, t: int, J: Tensor) -> Tensor | None:  # noqa: ARG002
        """Gradients `[2, P]` of the two halves, from those `J [n, P]` of the tasks after t."""
        return None


@dataclass(frozen=True)
class OwnTasks(Cost):
    """The losses of the window's own tasks, each mini-batch before its step."""

    replay: bool = False
    """whether the last mini-batch counts after its step, too"""

    def counts(self, t: int, T: int) -> bool:  # noqa: ARG002
        """Every mini-batch does."""
        return True

    def after(self, t: int, view: View, muted: Muted) -> CostTasks | None:
        """The last mini-batch, if it is replayed."""
        if not self.replay or t < len(view.window) - 1:
            return None
        return CostTasks(view.seen(t), muted.at(t), view.in_part)


@dataclass(frozen=True, eq=False)
class TargetTasks(Cost):
    """The losses of trusted tasks after each step; the window's own do not count."""

    targets: Sequence[Sequence[Any]]
    """T lists, some of which may be empty"""
    # targets are whole, and less is left to chance
    chance: ClassVar[float] = 1.0

    def counts(self, t: int, T: int) -> bool:  # noqa: ARG002
        """No mini-batch of the window does."""
        return False

    def after(self, t: int, view: View, muted: Muted) -> CostTasks | None:  # noqa: ARG002
        """The targets of the mini-batch, if it has any."""
        return CostTasks(self.targets[t], muted.targets_at(t)) if self.targets[t] else None

    def muting(self, t: int, wrong: Sequence[int]) -> Muted:
        """Targets are muted, not tasks of the window."""
        return Muted(targets=frozenset((t, i) for i in wrong))

    @property
    def has_halves(self) -> bool:
        """Two targets in all are enough."""
        return sum(map(len, self.targets)) > 1

    def halves(self, t: int, J: Tensor) -> Tensor | None:
        """Every other target; one target a mini-batch still makes two halves of the window."""
        earlier = sum(1 for goals in self.targets[:t] if goals)
        first = earlier % 2
        return torch.stack([J[first::2].sum(0), J[1 - first :: 2].sum(0)])
