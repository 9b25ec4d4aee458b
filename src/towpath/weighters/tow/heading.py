"""Heading: costates of the targets from a rollout that evaluates nothing else.

    nominal   x_1 is stepped on, then the optimiser coasts; the targets are evaluated after each
              step                                                          -> lam_{t+1} [k, P]
    training  at x_t the whole mini-batch is evaluated anyway               -> J_t [M, P]
              g_t = F_u,t' lam_{t+1}
              w_t = the feasible weights nearest to mu - g_t / beta_t

With targets a costate has no term of the window's own tasks, and without curvature these enter it
through the states alone, which a window moves little. So nothing of them is evaluated before
training is there. Each mini-batch has a beta of its own, `beta_t = M max|g_t| / spread`, which is
known as soon as its gradients are. The agreement by which the spread is multiplied is that of the
two halves of the targets on the mini-batches 1 to t: one that comes later tells more.

The trial is the training. Its cost is compared with that of the nominal, to which the steps that it
left out are added to first order: how far each would have led, times `lam_{t+1}`. A trial that is
above by more than two standard errors is compared with training on the nominal's weights.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from towpath.control import (
    ActionPrior,
    Convex,
    Improvement,
    Status,
    Trajectory,
    Work,
    backward_costates,
)
from towpath.control.deviations import centred, cosine
from towpath.dynamics import State
from towpath.objective import Evaluation
from towpath.weighters.tow.prior import LEAST_SCALE, AutoBeta, ChosenPrior, Mean
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.rollout import Rollout
from towpath.weighters.tow.steering import as_in, decided

ERRORS = 2.0
"""standard errors by which the training may be above the nominal, which took no step but the first:
as for a plan on a part (docs/decisions.md, 9)"""
Costates = Mapping[int, Tensor]
"""`lam_{t+1} [k, P]` by t"""


@dataclass(frozen=True)
class BetaOnTheWay(AutoBeta):
    """A prior whose precision follows from the gradients of training, mini-batch by mini-batch."""

    def choose(
        self,
        problem: WindowProblem,  # noqa: ARG002  nothing is known of it before training
        nominal: Trajectory[Rollout],  # noqa: ARG002
        bounds: object,  # noqa: ARG002
        mean: Mean,
    ) -> ChosenPrior:
        """Return the prior of a plan that has not begun, which keeps the weights at the nominal.

        Args:
            problem: unused, because the gradients of its mini-batches are not known yet.
            nominal: unused, for the same reason.
            bounds: unused, for the same reason.
            mean: the prior's mean that the nominal suggests.
        """
        return ChosenPrior(self.unasked(mean))


@dataclass(frozen=True, eq=False)
class Headed(Improvement[Rollout]):
    """An improvement whose prior was found on the way."""

    chosen: ChosenPrior = field(default_factory=lambda: ChosenPrior(ActionPrior(math.inf, 0.0)))
    training: Work = field(default_factory=Work)
    """work of a training that is in no entry of the history"""


@dataclass(frozen=True)
class Heading:
    """Trains through the window with weights that follow the costates of the targets."""

    bounds: Convex
    beta: BetaOnTheWay

    def improve(
        self, problem: WindowProblem, nominal: Trajectory[Rollout], prior: ActionPrior
    ) -> Improvement[Rollout]:
        """Return the training with these weights or with the nominal's, whichever is accepted."""
        began = time.perf_counter()
        cost = problem.setting.cost
        shares = problem.modeller.halves(nominal) if cost.has_halves else []
        model = problem.model(nominal, last=True)
        models = [model, *(model.with_share(share) for share in shares)]
        costates = [dict(backward_costates(each)) for each in models]
        del model, models, shares
        way = _Way(self, problem, nominal, prior, costates)
        if not way.finite:
            return Improvement(nominal, Status.NON_FINITE_DERIVATIVE)
        trial = problem.rollout(as_in(nominal), derivatives=False, decide=way.decide)
        chosen = way.chosen()
        if chosen.ended is not None and trial.finite:  # the weights are the nominal's
            ended = chosen.ended
            return Headed(trial, ended, compared_with=trial, chosen=chosen, training=trial.work)
        completed = way.completed(nominal) if trial.finite else nominal
        promise = way.predicted
        found = decided(problem, completed, trial, chosen.prior, promise, began, errors=ERRORS)
        return Headed(
            found.trajectory,
            found.status,
            found.history,
            compared_with=found.compared_with,
            chosen=chosen,
        )


class _Way:
    """What training found so far: gradients, agreement and precision of each mini-batch."""

    def __init__(
        self,
        heading: Heading,
        problem: WindowProblem,
        nominal: Trajectory[Rollout],
        prior: ActionPrior,
        costates: Sequence[Costates],
    ) -> None:
        self.heading, self.problem, self.prior = heading, problem, prior
        self.uniform, self.costates = nominal.actions, costates
        self.gradients: list[Tensor] = []
        """`[1 + halves, M]` for each mini-batch so far: of all targets, then of their halves"""
        self.precisions: list[float] = []
        """infinite where the weights stay"""
        self.predicted = 0.0
        """decrease of the cost that the moved weights promise"""
        self.worth = 0.0
        """change of the targets' losses by the steps that the nominal left out"""
        self.largest = 0.0

    @property
    def finite(self) -> bool:
        """Whether every costate is finite, on every rank."""
        bad = sum(int((~torch.isfinite(lam)).sum()) for lam in self.costates[0].values())
        total = self.problem.setting.ranks.total(torch.tensor([float(bad)], dtype=torch.float64))
        return not bool(total)

    @property
    def agreement(self) -> float | None:
        """The cosine of the deviations that the halves ask for so far; None without halves."""
        if len(self.costates) == 1:
            return None
        held = self.problem.setting.held
        rows = torch.stack(self.gradients, 1)
        halves = (centred(half, None if held is None else held[: len(half)]) for half in rows[1:])
        return cosine(*halves)

    def decide(self, t: int, whole: State, here: Evaluation) -> Tensor:
        """Return the weights of mini-batch t from its gradients J at the rank's coordinates."""
        setting, modeller = self.problem.setting, self.problem.modeller
        state, J = setting.own(whole), here.held.values
        lin = modeller.linearise(t, state, J.mean(0))
        rows = [J @ lin.removed((lin.b * lams[t]).sum(0)) for lams in self.costates]
        self.gradients.append(setting.ranks.total(torch.stack(rows).double()))
        if t in setting.view.coasts:
            step = modeller.moved(t, state, self.uniform[t].to(J) @ J)
            self.worth += float(setting.ranks.total((self.costates[0][t] * step).sum().double()))
        return self._weights(t, self.gradients[-1][0])

    def _weights(self, t: int, g: Tensor) -> Tensor:
        """Return the feasible weights nearest to `mu - g / beta_t`, and note the precision."""
        bounds, beta, setting = self.heading.bounds, self.heading.beta, self.problem.setting
        held, base = setting.held_at(t), self.uniform[t].to(g)
        followed = bounds.followed(g[None], None if held is None else held[None])
        most = float(followed.abs().max())
        self.largest = max(self.largest, most)
        spread = beta.spread * (max(0.0, self.agreement or 0.0) if beta.shrinks else 1.0)
        if spread == 0.0 or self.largest == 0.0:
            self.precisions.append(math.inf)
            return base
        # a mini-batch without influence must not move on rounding
        precision = len(g) * max(most, LEAST_SCALE * self.largest) / spread
        self.precisions.append(precision)
        mean = self.prior.mean(t)
        w = bounds.project(mean - g / precision, held).to(g)
        change = (w - mean).square().sum() - (base - mean).square().sum()
        self.predicted -= float(g @ (w - base)) + 0.5 * precision * float(change)
        return w

    def chosen(self) -> ChosenPrior:
        """Return the prior that was found, or why every mini-batch kept the nominal's weights."""
        moved = [p for p in self.precisions if math.isfinite(p)]
        agreed = self.agreement if self.gradients else None
        if not moved:
            ended = Status.NO_AGREEMENT if self.largest > 0.0 else Status.CONVERGED
            return ChosenPrior(self.prior, agreed, ended)
        most = max(moved)
        # where the weights stay the prior costs nothing, whatever its precision is
        scales = [p / most if math.isfinite(p) else 1.0 for p in self.precisions]
        scales += [1.0] * (len(self.uniform) - len(scales))
        return ChosenPrior(ActionPrior(most, self.prior.mu, tuple(scales)), agreed)

    def completed(self, nominal: Trajectory[Rollout]) -> Trajectory[Rollout]:
        """Return the nominal with what the steps that it left out would have changed later."""
        costs = list(nominal.state_costs)
        costs[-1] += self.worth
        return replace(nominal, state_costs=costs)
