"""What bounds are: which weights are feasible, and how a direction among them is found.

There are two families. `ClosedLoop` bounds follow the gains of a sweep and refuse steps that leave
the feasible weights. `Convex` bounds solve the condensed problem over a convex set for each
mini-batch, so that every step stays inside. A new convex set only has to define how weights are
projected onto it:

    class AtMostTwice(Convex):
        def project(self, weights, held=None):
            return weights.clamp(0.0, 2.0 / weights.shape[-1])

    tp.TOW(bounds=AtMostTwice())
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor

from towpath.control.descent import Direction, constrained, feedback
from towpath.control.prior import ActionPrior
from towpath.control.projected import solve_projected
from towpath.control.quadratic import Programme, Solution
from towpath.control.stage import Model
from towpath.control.status import Status
from towpath.control.sweep import ValueKind


class Bounds(ABC):
    """Which weights of a mini-batch are feasible.

    In all methods, `held` (bool, of the weights' shape) marks the weights of tasks that have no
    effect; it is None where every task has one.
    """

    feeds_back: ClassVar[bool] = False
    """Whether a direction is a feedback, which needs its model's gradients as long as trials are
    rolled out."""

    @abstractmethod
    def direction(
        self,
        model: Model,
        actions: Tensor,
        prior: ActionPrior,
        value: ValueKind,
    ) -> Direction | Status:
        """Return the direction that improves a trajectory, or a status that says why there is none.

        Args:
            model: the linear-quadratic model of the trajectory.
            actions: `[T, M]`, the actions of the trajectory.
            prior: the prior of the weights.
            value: the value function from which the feedback gains are computed.
        """

    def allows(self, action: Tensor) -> bool:
        """Return whether the action `[M]` of a trial is feasible: here, no weight is negative."""
        return not bool((action < 0).any())

    def feasible_start(self, actions: Tensor, held: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Return feasible weights `[T, M]` to replace nominal ones that may be infeasible."""
        return actions

    def followed(self, gradient: Tensor, held: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Return the part of a gradient `[T, M]` that weights can follow and stay feasible."""
        return gradient


class ClosedLoop(Bounds):
    """Bounds that follow the gains of a sweep; a trial that leaves the bounds is rejected."""

    feeds_back = True

    def direction(
        self,
        model: Model,
        actions: Tensor,
        prior: ActionPrior,
        value: ValueKind,
    ) -> Direction | Status:
        """Return the direction given by the feedback gains of a sweep.

        Args:
            model: the linear-quadratic model of the trajectory.
            actions: `[T, M]`, the actions of the trajectory.
            prior: the prior of the weights.
            value: the value function from which the gains are computed.
        """
        return feedback(model, actions, prior, value)


class Convex(Bounds):
    """Bounds that are a convex set for each mini-batch; a subclass only has to define `project`."""

    @abstractmethod
    def project(self, weights: Tensor, held: Tensor | None = None) -> Tensor:
        """Return the feasible weights nearest to `weights [..., M]`, in float64."""

    def minimise(self, programme: Programme) -> Solution:
        """Return the feasible weights that minimise a quadratic programme.

        Projected gradient steps work for every convex set; override this where a set has a better
        method.
        """
        return solve_projected(programme, self.project)

    def direction(
        self,
        model: Model,
        actions: Tensor,
        prior: ActionPrior,
        value: ValueKind,  # noqa: ARG002  the condensed problem is exact
    ) -> Direction | Status:
        """Return the direction towards the best feasible weights of the condensed problem.

        Args:
            model: the linear-quadratic model of the trajectory.
            actions: `[T, M]`, the actions of the trajectory.
            prior: the prior of the weights.
            value: unused, because the condensed problem is exact.
        """
        return constrained(model, actions, prior, self)

    def feasible_start(self, actions: Tensor, held: Tensor | None = None) -> Tensor:
        """Return the feasible weights nearest to the nominal ones."""
        return self.project(actions, held)
