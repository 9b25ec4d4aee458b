"""The strength beta of the prior on the weights: given, or computed from the window.

With `beta="auto"` beta is such that the largest deviation that the nominal's gradient suggests is
about `spread / M`. With targets the spread is multiplied by the agreement of two halves of them:
the cosine of the deviations, centred per mini-batch, that each half suggests.
"""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from towpath.control import ActionPrior, Bounds, Model, Status, Trajectory, costate_gradient
from towpath.control.deviations import centred, cosine
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.rollout import Rollout

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

    def unasked(self) -> ActionPrior:
        """Return the prior of a plan that keeps its nominal without computing gradients."""
        ...

    def choose(
        self, problem: WindowProblem, nominal: Trajectory[Rollout], bounds: Bounds
    ) -> ChosenPrior:
        """Return the prior for a finite nominal that was rolled out with derivatives."""
        ...


@dataclass(frozen=True)
class GivenBeta:
    """A prior with the beta that the user gave."""

    prior: ActionPrior

    def unasked(self) -> ActionPrior:
        """Return the given prior, which does not depend on gradients."""
        return self.prior

    def choose(
        self,
        problem: WindowProblem,
        nominal: Trajectory[Rollout],
        bounds: Bounds,  # noqa: ARG002  beta does not follow from what the bounds allow
    ) -> ChosenPrior:
        """Return the given prior; the agreement of the targets is measured as well."""
        if not problem.setting.cost.has_halves:
            return ChosenPrior(self.prior)
        # a model that lives here only does not use memory during the trials
        return ChosenPrior(self.prior, agreement(problem, nominal, problem.model(nominal)))


@dataclass(frozen=True)
class AutoBeta:
    """A prior whose beta is computed from the gradients of the nominal."""

    mu: float
    spread: float
    """the largest deviation, relative to 1/M"""
    scale: ScaleKind
    """one beta for the window, or one for each mini-batch"""
    shrinks: bool
    """whether the spread is multiplied by the agreement of the targets"""

    def unasked(self) -> ActionPrior:
        """Return a prior of infinite precision, which keeps the weights at the nominal."""
        return ActionPrior(math.inf, self.mu)

    def choose(
        self, problem: WindowProblem, nominal: Trajectory[Rollout], bounds: Bounds
    ) -> ChosenPrior:
        """Return the prior whose beta lets the weights deviate by the spread.

        The solver builds the nominal's model again: that costs no evaluation, and the model built
        here does not use memory during the trials.
        """
        setting = problem.setting
        model = problem.model(nominal)
        agreed = agreement(problem, nominal, model) if setting.cost.has_halves else None
        g0 = bounds.followed(costate_gradient(model), setting.held)
        spread = self.spread * (max(0.0, agreed or 0.0) if self.shrinks else 1.0)
        largest = float(g0.abs().max())
        if not math.isfinite(largest):
            return ChosenPrior(self.unasked(), ended=Status.NON_FINITE_DERIVATIVE)
        if largest == 0.0:
            return ChosenPrior(self.unasked(), agreed, Status.CONVERGED)
        if spread == 0.0:
            return ChosenPrior(self.unasked(), agreed, Status.NO_AGREEMENT)
        M = setting.shape[1]
        return ChosenPrior(
            ActionPrior(M * largest / spread, self.mu, self._scales(g0, largest)), agreed
        )

    def _scales(self, g0: Tensor, largest: float) -> tuple[float, ...] | None:
        """Return each mini-batch's beta over the window's; one without influence stays put."""
        if self.scale == "window":
            return None
        each = g0.abs().amax(1) / largest
        return tuple(float(s) for s in each.clamp_min(LEAST_SCALE))


def agreement(problem: WindowProblem, nominal: Trajectory[Rollout], model: Model) -> float:
    """Return the cosine of the deviations, centred per mini-batch, that the cost's halves suggest.

    To first order the deviations are the negative costate gradients, so this needs no evaluation;
    the halves use the model's adjoint even if the plan uses the exact one.
    """
    halves = problem.modeller.half_models(nominal, model)
    first, second = (centred(costate_gradient(half), problem.setting.held) for half in halves)
    return cosine(first, second)
