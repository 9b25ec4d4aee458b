"""What bounds are: which weights are feasible, and how a direction among them is found.

There are two families. `ClosedLoop` bounds follow the gains of a sweep and refuse steps that leave
the feasible weights. `Convex` bounds solve the condensed problem over a convex set for each
mini-batch, so that every step stays inside. A new convex set only has to say how weights are
projected onto it:

    class AtMostTwice(Convex):
        def project(self, weights, held=None):
            return weights.clamp(0.0, 2.0 / weights.shape[-1])

    tp.TOW(bounds=AtMostTwice())
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
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

    `held` says in all methods which weights (bool, of the same shape) belong to tasks that have no
    effect; None where every task has one.
    """

    wants_states: ClassVar[bool] = False
    """Whether a direction is a feedback on the states of the trajectory."""

    @abstractmethod
    def direction(
        self,
        model: Model,
        actions: Tensor,
        states: Sequence[Tensor],
        prior: ActionPrior,
        value: ValueKind,
    ) -> Direction | Status:
        """Which way to go from a trajectory, or why there is no way.

        Args:
            model: the linear-quadratic model of the trajectory.
            actions: `[T, M]`, those of the trajectory.
            states: its states z_t `[k, P]`; may be empty unless `wants_states`.
            prior: the prior of the weights.
            value: which value function the gains of a feedback come from.
        """

    def allows(self, action: Tensor) -> bool:
        """Whether the action `[M]` of a trial is feasible: no weight is negative."""
        return not bool((action < 0).any())

    def feasible_start(self, actions: Tensor, held: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Feasible weights `[T, M]` in place of nominal ones that need not be."""
        return actions

    def followed(self, gradient: Tensor, held: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """The part of a gradient `[T, M]` in the weights that feasible weights can follow."""
        return gradient


class ClosedLoop(Bounds):
    """Bounds whose direction is the feedback of a sweep; a trial that leaves them is refused."""

    wants_states = True

    def direction(
        self,
        model: Model,
        actions: Tensor,
        states: Sequence[Tensor],
        prior: ActionPrior,
        value: ValueKind,
    ) -> Direction | Status:
        """The gains of the sweep.

        Args:
            model: the linear-quadratic model of the trajectory.
            actions: `[T, M]`, those of the trajectory.
            states: its states z_t `[k, P]`.
            prior: the prior of the weights.
            value: which value function the gains come from.
        """
        return feedback(model, actions, states, prior, value)


class Convex(Bounds):
    """Bounds that are a convex set for each mini-batch; `project` is all that a set must say."""

    @abstractmethod
    def project(self, weights: Tensor, held: Tensor | None = None) -> Tensor:
        """The feasible weights nearest to `weights [..., M]`, float64."""

    def minimise(self, programme: Programme) -> Solution:
        """The feasible weights with the least value of a quadratic programme.

        Projected steps work for every set; a set with a better method of its own overrides this.
        """
        return solve_projected(programme, self.project)

    def direction(
        self,
        model: Model,
        actions: Tensor,
        states: Sequence[Tensor],  # noqa: ARG002  an open loop does not look at the states
        prior: ActionPrior,
        value: ValueKind,  # noqa: ARG002  the condensed problem is exact
    ) -> Direction | Status:
        """The best feasible weights of the condensed problem.

        Args:
            model: the linear-quadratic model of the trajectory.
            actions: `[T, M]`, those of the trajectory.
            states: not looked at.
            prior: the prior of the weights.
            value: not looked at.
        """
        return constrained(model, actions, prior, self)

    def feasible_start(self, actions: Tensor, held: Tensor | None = None) -> Tensor:
        """The feasible weights nearest to the nominal ones."""
        return self.project(actions, held)
