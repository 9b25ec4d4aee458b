"""An optimiser between two windows: its hyper-parameters, its moments, and how far it has come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from torch import Tensor

from towpath.dynamics.clipping import clipped
from towpath.dynamics.state import Clip, Dynamics, State


class Schedule(Protocol):
    """Hyper-parameters that change from step to step, such as a learning rate that decays."""

    def rules(self, base: Sequence[Any], step: int) -> Sequence[Any]:
        """Return the hyper-parameters of a step, one rule for each parameter.

        Args:
            base: the hyper-parameters that the optimiser was made with.
            step: the number of steps taken before this one.
        """
        ...


@dataclass(frozen=True, eq=False)
class OptimiserState:
    """An optimiser's hyper-parameters and moments, without the parameters that it moves.

    It is the immutable counterpart of a `torch.optim` object. `tp.Adam(lr=1e-3).init(params)` makes
    the first one, and `plan.optimizer_state` is the one after a planned window.
    """

    dynamics: Dynamics
    """with the hyper-parameters before any schedule"""
    slots: tuple[Tensor, ...]
    steps: tuple[int, ...]
    schedule: Schedule | None = None
    taken: int = 0
    """number of steps of the schedule that are over"""

    @classmethod
    def cold(cls, dynamics: Dynamics, params: Mapping[str, Tensor]) -> "OptimiserState":
        """Return the state before the first step from these parameters."""
        state = dynamics.initial(dynamics.layout.flatten(list(params.values())).detach())
        return cls(dynamics, state.slots, state.steps)

    @property
    def inertia(self) -> float:
        """The share of a step that momentum repeats in the next one; the parameters' least."""
        return min(rule.inertia for rule in self.dynamics.rules)

    def stage(self, t: int) -> Dynamics:
        """Return the dynamics of the step that comes after `t` further steps."""
        if self.schedule is None:
            return self.dynamics
        rules = self.schedule.rules(self.dynamics.rules, self.taken + t)
        dynamics = self.dynamics.with_rules(rules)
        if dynamics.slot_names != self.dynamics.slot_names:
            missing = [name for name in dynamics.slot_names if name not in self.dynamics.slot_names]
            raise ValueError(
                f"The schedule's hyper-parameters of step {self.taken + t} need "
                f"{', '.join(missing)}, which the optimiser does not keep; expected momentum from "
                "the start where a schedule gives some later. Make the optimiser with momentum > 0."
            )
        return dynamics

    def clipped(self, clip: Clip) -> "OptimiserState":
        """Return the same optimiser with gradients that are clipped before each step."""
        return replace(self, dynamics=clipped(self.dynamics, clip))

    def scheduled(self, schedule: Schedule) -> "OptimiserState":
        """Return the same optimiser with hyper-parameters that follow a schedule from here on."""
        return replace(self, schedule=schedule, taken=0)

    def at(self, x: Tensor) -> State:
        """Return the full state: these moments with the parameters `x [P]`."""
        return State(x, self.slots, self.steps)

    def after(self, state: State) -> "OptimiserState":
        """Return the same optimiser with the moments and steps of `state`, which it led to."""
        taken = self.taken + state.steps[0] - self.steps[0]
        return replace(self, slots=state.slots, steps=state.steps, taken=taken)
