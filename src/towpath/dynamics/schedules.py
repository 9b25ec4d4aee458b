"""Learning rates that change with the number of steps taken, for pure states and recipes.

The rate of step n (from 0) is the optimiser's own times `factor(n)`:

    constant   1                                                   warmup w > 0: the first w steps
    linear     from 1 to `final` over `steps` steps                have (n + 1) / w instead, and the
    cosine     the same along half a cosine                        schedule begins after them
    step       `decay` to the power of n // `every`

Torch's own schedulers are for torch's optimisers: `tp.Stepping(optimizer, scheduler=...)`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from towpath.validation import at_least, check_whole


@dataclass(frozen=True)
class RateSchedule(ABC):
    """A schedule of the learning rate alone; another one defines `after_warmup`."""

    warmup: int = 0
    """number of first steps over which the rate rises linearly to its full value"""

    def __post_init__(self) -> None:
        check_whole(type(self).__name__, "warmup", self.warmup, 0)

    @abstractmethod
    def after_warmup(self, n: int) -> float:
        """Return the factor of step n, counted from 0 after the warm-up."""

    def factor(self, n: int) -> float:
        """Return what the rate of step n, counted from 0, is multiplied by."""
        if n < self.warmup:
            return (n + 1) / self.warmup
        return self.after_warmup(n - self.warmup)

    def rules(self, base: Sequence[Any], step: int) -> Sequence[Any]:
        """Return the hyper-parameters of a step, one rule for each parameter.

        Args:
            base: the hyper-parameters with the full learning rate.
            step: the number of steps taken before this one.
        """
        return [replace(rule, lr=rule.lr * self.factor(step)) for rule in base]


@dataclass(frozen=True)
class Constant(RateSchedule):
    """The full rate, after a warm-up."""

    def after_warmup(self, n: int) -> float:  # noqa: ARG002
        """Return 1."""
        return 1.0


@dataclass(frozen=True)
class _Falling(RateSchedule):
    """A rate that goes to a share of itself over a number of steps, and stays there."""

    steps: int = 0
    """number of steps after the warm-up until the rate is `final` of the full one; 0 in a recipe
    for the rest of training"""
    final: float = 0.0
    """the share of the full rate at the end"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(type(self).__name__, "steps", self.steps, 1)
        at_least(type(self).__name__, "final", self.final, 0.0)

    def _progress(self, n: int) -> float:
        return min(n / self.steps, 1.0)


@dataclass(frozen=True)
class Linear(_Falling):
    """A rate that falls in equal steps, as `torch.optim.lr_scheduler.LinearLR` makes it."""

    def after_warmup(self, n: int) -> float:
        """Return the factor of step n, counted from 0 after the warm-up."""
        return 1.0 + (self.final - 1.0) * self._progress(n)


@dataclass(frozen=True)
class Cosine(_Falling):
    """A rate that falls along half a cosine, as `CosineAnnealingLR` of torch makes it."""

    def after_warmup(self, n: int) -> float:
        """Return the factor of step n, counted from 0 after the warm-up."""
        return self.final + (1.0 - self.final) * (1.0 + math.cos(math.pi * self._progress(n))) / 2


@dataclass(frozen=True)
class Stepwise(RateSchedule):
    """A rate that is multiplied by a factor at intervals, as `StepLR` of torch makes it."""

    every: int = 1000
    """number of steps between two changes"""
    decay: float = 0.1
    """what the rate is multiplied by at each change"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("Stepwise", "every", self.every, 1)
        at_least("Stepwise", "decay", self.decay, 0.0)

    def after_warmup(self, n: int) -> float:
        """Return the factor of step n, counted from 0 after the warm-up."""
        return float(self.decay ** (n // self.every))


SCHEDULES: dict[str, type[RateSchedule]] = {
    "constant": Constant,
    "linear": Linear,
    "cosine": Cosine,
    "step": Stepwise,
}
"""schedules by the word that a recipe gives them"""
