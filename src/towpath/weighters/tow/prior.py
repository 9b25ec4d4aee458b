"""The strength beta of the prior on the weights: given, or computed from the window.

The mean is the nominal's weights unless the user gives another. With `beta="auto"` beta is such
that the largest deviation that the nominal's gradient suggests is about `spread / M`. With targets
the spread is multiplied by the agreement of two halves of them: the cosine of the deviations,
centred per mini-batch, that each half suggests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from towpath.control import ActionPrior, Bounds, Status, Trajectory, costate_gradient
from towpath.control.deviations import centred, cosine
from towpath.control.stage import costate_gradients
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.rollout import Rollout

Mean = float | Tensor
"""the mean of the prior: one number for all tasks, or `[T, M]`"""
ScaleKind = Literal["window", "mini-batch"]
LEAST_SCALE = 1e-3
"""a mini-batch without influence must not move on rounding: beta differs a thousandfold at most"""


@dataclass(frozen=True)
class ChosenPrior:
    """The prior of a plan; `ended` gives the reason if the plan stays at the nominal."""

    prior: ActionPrior
    agreement: float | None = None
    ended: Status | None = None


class PriorChoice(Protocol):
    """The interface of a method that chooses the prior of a plan."""

    def unasked(self, mean: Mean) -> ActionPrior:
        """Return the prior of a plan that keeps its nominal without computing gradients."""
        ...

    def choose(
        self, problem: WindowProblem, nominal: Trajectory[Rollout], bounds: Bounds, mean: Mean
    ) -> ChosenPrior:
        """Return the prior for a finite nominal that was rolled out with derivatives.

        Args:
            problem: the window as a control problem.
            nominal: the trajectory that planning starts from.
            bounds: the feasible weights.
            mean: the prior's mean that the nominal suggests.
        """
        ...


@dataclass(frozen=True)
class GivenBeta:
    """A prior with the beta that the user gave."""

    beta: float
    mu: float | None = None
    """the mean that the user gave; None for the nominal's"""

    def unasked(self, mean: Mean) -> ActionPrior:
        """Return the prior of the given beta, which does not depend on gradients."""
        return ActionPrior(self.beta, mean if self.mu is None else self.mu)

    def choose(
        self,
        problem: WindowProblem,
        nominal: Trajectory[Rollout],
        bounds: Bounds,  # noqa: ARG002  beta does not follow from what the bounds allow
        mean: Mean,
    ) -> ChosenPrior:
        """Return the prior of the given beta; the agreement of the targets is measured as well.

        Args:
            problem: the window as a control problem.
            nominal: the trajectory that planning starts from.
            bounds: unused, because beta is given.
            mean: the prior's mean that the nominal suggests.
        """
        prior = self.unasked(mean)
        if not problem.setting.cost.has_halves:
            return ChosenPrior(prior)
        model = problem.model(nominal)
        halves = [model.with_share(share) for share in problem.modeller.halves(nominal)]
        return ChosenPrior(prior, agreement(problem, [costate_gradient(half) for half in halves]))


@dataclass(frozen=True)
class AutoBeta:
    """A prior whose beta is computed from the gradients of the nominal."""

    mu: float | None
    """the mean that the user gave; None for the nominal's"""
    spread: float
    """the largest deviation, relative to 1/M"""
    scale: ScaleKind
    """one beta for the window, or one for each mini-batch"""
    shrinks: bool
    """whether the spread is multiplied by the agreement of the targets"""

    def unasked(self, mean: Mean) -> ActionPrior:
        """Return a prior of infinite precision, which keeps the weights at the nominal."""
        return ActionPrior(math.inf, mean if self.mu is None else self.mu)

    def choose(
        self, problem: WindowProblem, nominal: Trajectory[Rollout], bounds: Bounds, mean: Mean
    ) -> ChosenPrior:
        """Return the prior whose beta lets the weights deviate by the spread.

        The solver builds the nominal's model again: that costs no evaluation, and the model built
        here does not use memory during the trials.

        Args:
            problem: the window as a control problem.
            nominal: the trajectory that planning starts from.
            bounds: the feasible weights.
            mean: the prior's mean that the nominal suggests.
        """
        still = self.unasked(mean)
        setting = problem.setting
        found = influence(problem, nominal)
        agreed = found.agreement
        g0 = bounds.followed(found.gradient, setting.held)
        spread = self.spread * (max(0.0, agreed or 0.0) if self.shrinks else 1.0)
        largest = float(g0.abs().max())
        if not math.isfinite(largest):
            return ChosenPrior(still, ended=Status.NON_FINITE_DERIVATIVE)
        if largest == 0.0:
            return ChosenPrior(still, agreed, Status.CONVERGED)
        if spread == 0.0:
            return ChosenPrior(still, agreed, Status.NO_AGREEMENT)
        beta = setting.shape[1] * largest / spread
        return ChosenPrior(ActionPrior(beta, still.mu, self._scales(g0, largest)), agreed)

    def _scales(self, g0: Tensor, largest: float) -> tuple[float, ...] | None:
        """Return each mini-batch's beta over the window's; one without influence stays put."""
        if self.scale == "window":
            return None
        each = g0.abs().amax(1) / largest
        return tuple(float(s) for s in each.clamp_min(LEAST_SCALE))


@dataclass(frozen=True, eq=False)
class Influence:
    """What the weights of the nominal do to its cost, and how far the cost's halves agree on it."""

    gradient: Tensor
    """`dJ/du [T, M]` of the state cost, float64"""
    agreement: float | None
    """that of the cost's halves; None if it has none"""


def influence(problem: WindowProblem, nominal: Trajectory[Rollout]) -> Influence:
    """Return the influence of the weights along a nominal that was rolled out with derivatives.

    To first order the deviations that a half suggests are its negative costate gradients, so this
    needs no evaluation; the halves use the model's adjoint even if the plan uses the exact one.
    """
    shares = problem.modeller.halves(nominal) if problem.setting.cost.has_halves else []
    gradient, *halves = costate_gradients(problem.model(nominal), shares)
    return Influence(gradient, agreement(problem, halves) if halves else None)


def agreement(problem: WindowProblem, halves: Sequence[Tensor]) -> float:
    """Return the cosine of the deviations, centred per mini-batch, that the cost's halves suggest.

    Args:
        problem: the window as a control problem.
        halves: the costate gradients `[T, M]` of the two halves.
    """
    first, second = (centred(half, problem.setting.held) for half in halves)
    return cosine(first, second)
