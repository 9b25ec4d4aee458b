"""The outer optimiser of a recipe: its options, clipping, and the schedule of its rate.

    optimizer:
      name: adam
      meta_lr: 0.001
      clip_norm: 10.0
      schedule: {name: cosine, warmup: 100}

Options have the names and meanings of `torch.optim`, but for the rate, which is `meta_lr`.
"""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from torch import Tensor

from towpath.dynamics import SCHEDULES, SGD, Adam, AMSGrad, OptimiserState, RAdam, RMSprop, clip_of
from towpath.dynamics.schedules import RateSchedule
from towpath.recipes.component import Component, Options
from towpath.recipes.typed import RecipeError, chosen, options_for
from towpath.validation import Range

SCHEDULE = "schedule"
"""the option that holds a section of its own"""


@dataclass(frozen=True)
class OuterOptimizer(ABC):
    """The options of an outer optimiser that all of them have."""

    meta_lr: float = 1e-4
    """the meta learning rate, before any schedule"""
    weight_decay: Annotated[float, Range(0, 1e6)] = 0.0
    """weight decay, which is added to the gradient"""
    clip_norm: Annotated[float, Range(1e-12, 1e12)] | None = None
    """largest norm of the gradient of all parameters; null for any"""
    clip_value: Annotated[float, Range(1e-12, 1e12)] | None = None
    """largest size of a single entry of the gradient; null for any"""
    schedule: str | dict[str, Any] | None = None
    """how the rate changes: constant, linear, cosine or step, or a section with such a name and its
    options; null for a constant rate"""

    def __post_init__(self) -> None:
        rate = self.meta_lr
        if not (isinstance(rate, int | float) and 0 < rate < math.inf):
            raise RecipeError(
                f"optimizer.meta_lr is {rate!r}; expected a finite number above 0, such as 0.001."
            )
        if self.clip_norm is not None and self.clip_value is not None:
            raise RecipeError(
                f"optimizer.clip_norm is {self.clip_norm} and optimizer.clip_value "
                f"{self.clip_value}; expected one of them at most. Leave the other out."
            )

    @abstractmethod
    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return the optimiser before its first step, without clipping or schedule."""


@dataclass(frozen=True)
class AdamOptions(OuterOptimizer):
    """Adam; its variants differ in the class of the rule alone."""

    betas: tuple[float, float] = (0.9, 0.999)
    """decay rates of the two moments"""
    eps: float = 1e-8
    """added to the root of the second moment"""

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return Adam before its first step."""
        return self._made(Adam, params)

    def _made(
        self, rule: type[Adam], params: Mapping[str, Tensor], *, decoupled: bool = False
    ) -> OptimiserState:
        betas = (self.betas[0], self.betas[1])
        return rule(self.meta_lr, betas, self.eps, self.weight_decay, decoupled).init(params)


@dataclass(frozen=True)
class AdamWOptions(AdamOptions):
    """AdamW, which shrinks the parameters themselves by the weight decay."""

    weight_decay: Annotated[float, Range(0, 1e6)] = 0.01
    """weight decay, which does not enter the moments"""

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return AdamW before its first step."""
        return self._made(Adam, params, decoupled=True)


@dataclass(frozen=True)
class AMSGradOptions(AdamOptions):
    """Adam with the largest second moment so far."""

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return AMSGrad before its first step."""
        return self._made(AMSGrad, params)


@dataclass(frozen=True)
class RAdamOptions(AdamOptions):
    """RAdam, which leaves out the second moment while its estimate is rough."""

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return RAdam before its first step."""
        return self._made(RAdam, params)


@dataclass(frozen=True)
class RMSpropOptions(OuterOptimizer):
    """RMSprop."""

    alpha: float = 0.99
    """decay rate of the mean square of the gradient"""
    eps: float = 1e-8
    """added to the root of the mean square"""
    momentum: float = 0.0
    """share of a step's direction that the next one repeats"""
    centered: bool = False
    """whether the gradient's variance takes the place of its mean square"""

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return RMSprop before its first step."""
        rule = RMSprop(
            self.meta_lr, self.alpha, self.eps, self.weight_decay, self.momentum, self.centered
        )
        return rule.init(params)


@dataclass(frozen=True)
class SGDOptions(OuterOptimizer):
    """Stochastic gradient descent."""

    meta_lr: float = 1e-2
    """the meta learning rate, before any schedule"""
    momentum: float = 0.0
    """share of the buffer that the next step repeats"""
    dampening: float = 0.0
    """share of the gradient that does not enter the buffer"""
    nesterov: bool = False
    """whether the step looks ahead along the buffer"""

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return SGD before its first step."""
        rule = SGD(self.meta_lr, self.momentum, self.dampening, self.nesterov, self.weight_decay)
        return rule.init(params)


OPTIMIZERS: dict[str, type[OuterOptimizer]] = {
    "adam": AdamOptions,
    "adamw": AdamWOptions,
    "amsgrad": AMSGradOptions,
    "radam": RAdamOptions,
    "rmsprop": RMSpropOptions,
    "sgd": SGDOptions,
}
"""outer optimisers by name"""


def optimizer_options(component: Component) -> Options:
    """Return all options of the outer optimiser, with defaults filled in."""
    make = OPTIMIZERS[chosen(OPTIMIZERS, component.name, "optimizer.name")]
    return options_for(make, component.options, "optimizer")


def with_whole_schedule(component: Component, steps: int) -> Component:
    """Return the optimiser with every option of its schedule written down, if it has one.

    A run that is later made longer then keeps the schedule that it began with.

    Args:
        component: the optimiser, as the recipe names it.
        steps: number of training steps, which a schedule lasts unless it says otherwise.
    """
    given = component.options.get(SCHEDULE)
    if given is None:
        return component
    section = Component.of(f"optimizer.{SCHEDULE}", given)
    options = _schedule_options(section, steps)
    return component.given(**{SCHEDULE: {"name": section.name, **options}})


def make_optimizer(
    component: Component, params: Mapping[str, Tensor], steps: int = 0
) -> OptimiserState:
    """Return the outer optimiser in its state before the first step.

    Args:
        component: the optimiser, as the recipe names it.
        params: the parameters that it moves.
        steps: number of training steps, which a schedule lasts unless it says otherwise.
    """
    options = optimizer_options(component)
    chosen_options = OPTIMIZERS[component.name](**options)
    state = chosen_options.init(params)
    clip = clip_of(chosen_options.clip_norm, chosen_options.clip_value)
    if clip is not None:
        state = state.clipped(clip)
    if chosen_options.schedule is None:
        return state
    return state.scheduled(_schedule(chosen_options.schedule, steps))


def _schedule(value: object, steps: int) -> RateSchedule:
    section = Component.of(f"optimizer.{SCHEDULE}", value)
    options = _schedule_options(section, steps)
    return SCHEDULES[section.name](**options)


def _schedule_options(section: Component, steps: int) -> Options:
    """Return all options of a schedule; its length is what is left of training after a warm-up."""
    where = f"optimizer.{SCHEDULE}"
    make = SCHEDULES[chosen(SCHEDULES, section.name, f"{where}.name")]
    options = dict(options_for(make, section.options, where))
    if "steps" in inspect.signature(make).parameters and not options["steps"]:
        options["steps"] = max(1, steps - options["warmup"])
    return options
