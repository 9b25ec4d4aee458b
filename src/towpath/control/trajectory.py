"""A rollout through the true dynamics, and the interface of the problem that produces it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from towpath.control.prior import ActionPrior
from towpath.control.stage import Model

Kept = TypeVar("Kept")
"""The data that a problem stores with a rollout, mainly to model it. The solver only passes it
back."""

Policy = Callable[[int, Tensor], Tensor]
"""(stage t, state z [k, P]) -> action [M], float64."""
Allows = Callable[[Tensor], bool]
"""action [M] -> whether it is feasible."""
GoesOn = Callable[[Sequence[Tensor]], bool]
"""costs of single tasks at the states so far -> whether the rollout is worth finishing."""


@dataclass(frozen=True, eq=False)
class Work:
    """The work of a rollout: tasks evaluated, tasks sketched, tasks evaluated in part."""

    tasks: int = 0
    sketches: int = 0
    parts: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.tasks + other.tasks, self.sketches + other.sketches, self.parts + other.parts
        )

    @property
    def any(self) -> bool:
        """Whether the rollout evaluated any task, in whole or in part."""
        return self.tasks + self.parts > 0


@dataclass(frozen=True, eq=False)
class Trajectory(Generic[Kept]):
    """A rollout through the true dynamics, with its cost and the data for its model."""

    # what was done
    actions: Tensor
    """`[T, M]`, as they were used"""
    # what it cost
    state_costs: list[float]
    """cost of the states, one number for each state that has one, summed in float64"""
    finite: bool
    feasible: bool
    work: Work
    # what the problem needs to model it
    kept: Kept
    # whose costs they are
    task_costs: Sequence[Tensor] = ()
    """costs of single tasks, float64, one vector for each of `state_costs`, which are their sums;
    empty if the problem does not know single tasks, and each state then counts as one"""
    complete: bool = True
    """False if the rollout was broken off because it was not worth finishing"""

    def cost(self, prior: ActionPrior) -> float:
        """Return the total cost J of the trajectory, including the prior."""
        return math.fsum(self.state_costs) + prior.cost(self.actions)

    def magnitude(self, prior: ActionPrior) -> float:
        """Return `sum |c_t|`, the scale to which the rounding of J is relative."""
        return math.fsum(abs(c) for c in self.state_costs) + prior.cost(self.actions)

    def single_costs(self) -> Tensor:
        """Return the costs of all single tasks at all states `[n]`, in float64."""
        if not self.task_costs:
            return torch.tensor(self.state_costs, dtype=torch.float64)
        return torch.cat(list(self.task_costs))


class Problem(Protocol[Kept]):
    """The control problem as the solver sees it: it rolls policies out and models trajectories."""

    @property
    def epsilon(self) -> float:
        """The rounding unit of the dtype of the states."""
        ...

    def rollout(
        self,
        policy: Policy,
        *,
        derivatives: bool,
        allows: Allows,
        goes_on: GoesOn | None = None,
    ) -> Trajectory[Kept]:
        """Follow the policy through the true dynamics; stop early if it cannot be accepted.

        A problem that knows the costs of single tasks asks `goes_on` before each further stage.
        """
        ...

    def model(self, trajectory: Trajectory[Kept], *, last: bool) -> Model:
        """Return the linear-quadratic model about a trajectory rolled out with derivatives.

        With `last=True` the trajectory will not be modelled again: its derivatives pass
        to the model, which frees them with itself.
        """
        ...
