"""From the trajectory that planning chose to the plan that training gets."""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from towpath.control import Prior, Status, Trajectory, Work
from towpath.weighters.muted import Muted
from towpath.weighters.plan import BuffersMoved, Plan
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.rollout import Rollout

NO_WORK = Work()


@dataclass(frozen=True, eq=False)
class Outcome:
    trajectory: Trajectory
    status: Status
    prior: Prior
    history: tuple[Any, ...] = ()
    agreement: float | None = None
    curvature_ratio: float = 0.0
    extra: Work = NO_WORK
    """of the training that followed a plan on a part"""
    nominal: Trajectory | None = None
    """what the trajectory was compared with, if not the first one"""


def trained(problem: WindowProblem, outcome: Outcome) -> Outcome:
    """A trajectory that was only planned on a part of the tasks is trained on the whole."""
    chosen = outcome.trajectory
    if chosen.payload.trained or not chosen.finite:
        return outcome
    actions = chosen.actions
    training = problem.rollout(lambda t, z: actions[t], derivatives=False)  # noqa: ARG005
    status = outcome.status if training.finite else Status.NON_FINITE_NOMINAL
    return replace(
        outcome, trajectory=training, status=status, extra=training.work, nominal=training
    )


def plan_of(
    problem: WindowProblem,
    first: Tensor,
    nominal: Trajectory,
    outcome: Outcome,
    muted: Muted,
    share: float,
    began: float,
) -> Plan:
    start = problem.start
    chosen = outcome.trajectory
    rollout: Rollout = chosen.payload
    history = outcome.history
    M = nominal.actions.shape[1]
    # an infinite precision holds the weights at the nominal, where the prior costs nothing
    prior = outcome.prior if math.isfinite(outcome.prior.beta) else Prior(0.0, outcome.prior.mu)
    finite = nominal.finite and chosen.finite
    total = nominal.work + outcome.extra
    # a nominal that broke off leads nowhere: the state stays where it began
    final = rollout.final if finite else start.state
    weights = (rollout.weights if finite else first.to(start.state.x)).clone()
    for t in range(len(weights)):
        weights[t, list(muted.at(t))] = 0.0  # whatever the action: a muted task moves nothing
    return Plan(
        weights=weights,
        status=outcome.status,
        nominal_cost=(outcome.nominal or nominal).cost(prior) if finite else math.nan,
        cost=chosen.cost(prior) if finite else math.nan,
        predicted_decrease=math.fsum(line.predicted for line in history),
        history=history,
        beta=outcome.prior.beta,
        agreement=outcome.agreement,
        curvature_ratio=outcome.curvature_ratio,
        losses=rollout.losses,
        accuracies=rollout.accuracies,
        # of the nominal as well: it may have been planned on, and another one trained on
        bad=rollout.bad | nominal.payload.bad,
        evaluations=total.tasks / M + sum(line.evaluations for line in history),
        sketches=total.sketches / M + sum(line.sketches for line in history),
        products=problem.products / M,
        query_share=share,
        part_evaluations=total.parts / M + sum(line.part_evaluations for line in history),
        seconds=time.perf_counter() - began,
        layout=start.layout,
        initial=start.state,
        final=final,
        optimizer_state=start.optimizer.after(final),
        buffers=BuffersMoved.between(start.buffers, rollout.buffers if finite else start.buffers),
    )
