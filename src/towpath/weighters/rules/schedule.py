"""Schedules: equal weights first, then the trusted tasks alone. No rules, but contestants.

A comparison needs them because every weighter trains on the trusted tasks: what a rule with targets
gains must be more than what training on these tasks at the end would gain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from towpath.data.trusted import still_trusted
from towpath.validation import at_least
from towpath.weighters.card import Card
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.selection import equal


@dataclass(frozen=True)
class TrustedOnly(MiniBatchWeighter):
    """Equal weights for the tasks with `info["trusted"]`, none for the others.

    A trusted task that a check has left out (`info["left_out"]`) is one of the others.

    A mini-batch without a trusted task weighs nothing, and the optimiser steps on a zero gradient.

    Args:
        after: mini-batches with equal weights for all tasks first.
    """

    card = Card(
        formula="equal on trusted tasks, 0 on the others",
        assumes="trusted tasks are enough to learn from",
        costs="nothing",
        fails="where they are few: they are memorised",
        reference="a control",
    )
    needs_trusted: ClassVar[bool] = True

    after: int | None = 0

    def __post_init__(self) -> None:
        if self.after is not None:
            at_least(type(self).__name__, "after", self.after, 0)

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Share the weight among all tasks at first, then among the trusted ones."""
        if self.after is None:
            raise ValueError(
                f"{type(self).__name__} found after=None; expected the number of mini-batches with "
                "equal weights. Pass after=...; a recipe fills it in."
            )
        if batch.step < self.after:
            return equal(batch), state
        marked = [1.0 if still_trusted(info) else 0.0 for info in batch.infos]
        trusted = batch.losses.new_tensor(marked)
        return trusted / trusted.sum().clamp_min(1.0), state


@dataclass(frozen=True)
class FineTune(TrustedOnly):
    """Equal weights, then the trusted tasks alone for the last fifth of the training.

    Args:
        after: mini-batches with equal weights; a recipe fills in 80 per cent of training.steps.
    """

    card = Card(
        formula="equal on all tasks for 80 per cent of the steps, then on trusted tasks only",
        assumes="the trusted tasks are like the test, the others are near enough to begin with",
        costs="nothing",
        fails="where trusted tasks are few: the last steps memorise them",
        reference="a control",
    )
    from_steps: ClassVar[Mapping[str, float]] = {"after": 0.8}

    after: int | None = None
