"""A rollout through the true dynamics, and what the solver asks of the world that makes it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from torch import Tensor

from towpath.control.prior import ActionPrior
from towpath.control.stage import Model

Kept = TypeVar("Kept")
"""What a problem keeps of a rollout for itself, above all to model it. The solver only hands it
back."""

Policy = Callable[[int, Tensor], Tensor]
"""(stage t, state z [k, P]) -> action [M], float64."""
Allows = Callable[[Tensor], bool]
"""action [M] -> whether it is feasible."""


@dataclass(frozen=True, eq=False)
class Work:
    """What a rollout cost: tasks evaluated, tasks sketched, tasks evaluated in part."""

    tasks: int = 0
    sketches: int = 0
    parts: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.tasks + other.tasks, self.sketches + other.sketches, self.parts + other.parts
        )

    @property
    def any(self) -> bool:
        """Whether anything was evaluated."""
        return self.tasks + self.parts > 0


@dataclass(frozen=True, eq=False)
class Trajectory(Generic[Kept]):
    """A rollout through the true dynamics."""

    # what was done
    actions: Tensor
    """`[T, M]`, as they were used"""
    states: Sequence[Tensor]
    """z_t `[k, P]` before each stage"""
    # what it cost
    state_costs: list[float]
    """cost of the states, one number for each state that has one, summed in float64"""
    finite: bool
    feasible: bool
    work: Work
    # what the problem needs to model it
    kept: Kept

    def cost(self, prior: ActionPrior) -> float:
        """J, prior included."""
        return math.fsum(self.state_costs) + prior.cost(self.actions)

    def magnitude(self, prior: ActionPrior) -> float:
        """sum |c_t|: what the rounding of J is relative to."""
        return math.fsum(abs(c) for c in self.state_costs) + prior.cost(self.actions)


class Problem(Protocol[Kept]):
    """What the solver needs to know of the world."""

    @property
    def epsilon(self) -> float:
        """Rounding unit of the states' dtype."""
        ...

    def rollout(self, policy: Policy, *, derivatives: bool, allows: Allows) -> Trajectory[Kept]:
        """Follow the policy through the true dynamics; stop early where it cannot be accepted."""
        ...

    def model(self, trajectory: Trajectory[Kept], *, last: bool, states: bool) -> Model:
        """Linear-quadratic model about a trajectory rolled out with derivatives.

        `last=True` says that it will not be modelled again: its derivatives are freed on the way,
        and its states unless `states` says that they are needed. The rest of it stays.
        """
        ...
