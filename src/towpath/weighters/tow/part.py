"""Planning on a part of the tasks: costates from a cheap rollout, weights from the training itself.

    nominal   a rollout with uniform weights on a part of each query set   -> lam_{t+1} [k, P]
    training  at x_t the whole mini-batch is evaluated anyway              -> J_t [M, P]
              g_t = F_u,t' lam_{t+1},   F_u,t = b_t J_t'
              w_t = the feasible weights nearest to mu - g_t / beta

The costate sums the gradients of many tasks, so a part of their images says enough; a task's own
gradient does not average out, and is taken whole. Without curvature the quadratic model is beta I
and w_t is its exact minimiser. Where the optimiser has momentum, the nominal does not look at the
first mini-batches after the first (`TOW.coasting`): what they say of a weight is little. Their own
weights are planned like the others', and the step that the nominal left out is made up for in its
cost: how far it would have led, with the gradients that training finds there, times `lam_{t+1}`.

The trial is the training: its cost is estimated from the parts of every other task of the
mini-batches that the nominal looked at. The nominal took other steps (those of the parts), so the
two differ by chance, too: the trial is accepted unless it is above the nominal by more than two
standard errors of the difference over the tasks (with targets: one). Where it is, training with
uniform weights decides: both are rolled out on whole tasks then, and the cheaper one is kept.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from towpath.control import (
    BoundsKind,
    Iteration,
    Prior,
    Status,
    Trajectory,
    backward_costates,
    constrained,
)
from towpath.control.quadratic import project_simplex
from towpath.dynamics import State
from towpath.weighters.tow.problem import WindowProblem

CHANCE, CHANCE_WITH_TARGETS = 2.0, 1.0
"""standard errors by which a trial may be above the nominal (docs/decisions.md, 9); targets are
whole, and less is left to chance"""


HEAVY = 0.5
"""momentum (Adam: beta1) from which on early losses say little of a weight"""


def left_out_of(T: int, inertia: float) -> int:
    """How many of T mini-batches after the first need not be looked at.

    With momentum a weight moves the parameters little at first and more from step to step, so that
    the first losses after it hardly say what it does: a quarter of them is left out.
    """
    return (T - 1) // 4 if inertia >= HEAVY else 0


@dataclass(frozen=True, eq=False)
class Steered:
    """The accepted trajectory, or the nominal, which may still be to be trained."""

    trajectory: Trajectory
    status: Status
    nominal: Trajectory
    """what the accepted one was compared with"""
    history: tuple[Iteration, ...] = ()


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A mini-batch that the nominal did not look at, as training found it."""

    g: Tensor
    """`dJ/du_t [M]`, float64"""
    worth: float
    """change of the later costs by a step with the nominal's weights instead of none"""


def steer(
    problem: WindowProblem,
    nominal: Trajectory,
    prior: Prior,
    *,
    bounds: BoundsKind,
    tolerance: float,
) -> Steered:
    """Train through the window with weights that follow the nominal's costates."""
    began = time.perf_counter()
    model = problem.model(nominal, last=True, states=False)
    direction = constrained(model, nominal.actions, prior, bounds)
    if isinstance(direction, Status):
        return Steered(nominal, direction, nominal)
    if direction.stationarity <= tolerance:
        return Steered(nominal, Status.CONVERGED, nominal)
    slack = 8.0 * problem.epsilon * nominal.magnitude(prior)
    if abs(direction.theta) < slack:
        return Steered(nominal, direction.ended(Status.NO_SIGNIFICANT_DECREASE), nominal)
    costates = dict(backward_costates(model))
    del model
    T, M = nominal.actions.shape
    precisions = prior.precisions(T)

    uniform = nominal.actions
    left_out: dict[int, LeftOut] = {}

    def decide(t: int, state: State, J: Tensor) -> Tensor:
        b = problem.linearise(state, J.mean(0)).b
        g = problem.ranks.total((J @ (b * costates[t]).sum(0)).double())
        if t in problem.coasts:
            step = problem.moved(state, uniform[t].to(J) @ J)
            worth = problem.ranks.total((costates[t] * step).sum(dtype=torch.float64))
            left_out[t] = LeftOut(g, float(worth))
        held = None if problem.held is None else problem.held[t]
        return nearest(prior.mu - g / precisions[t], bounds, held)

    trial = problem.rollout(lambda t, z: uniform[t], derivatives=False, decide=decide)  # noqa: ARG005
    predicted = direction.predicted_decrease(1.0)
    if trial.finite:
        nominal = _completed(nominal, trial, left_out)
        predicted += _promised(trial, nominal, left_out, prior)
    work, base = trial.work, nominal
    change = trial.cost(prior) - nominal.cost(prior)
    counted = trial.payload.counted, nominal.payload.counted
    accepted = trial.finite and change <= by_chance(*counted, problem.targets is not None)
    if not accepted:
        base = problem.rollout(lambda t, z: uniform[t], derivatives=False)  # noqa: ARG005
        work = work + base.work
        change = trial.cost(prior) - base.cost(prior)
        accepted = trial.finite and (not base.finite or change <= 0.0)
    line = Iteration(
        cost=(trial if accepted else base).cost(prior),
        predicted=predicted if accepted else 0.0,
        actual=-change if accepted else 0.0,
        eps=1.0 if accepted else 0.0,
        trials=1,
        evaluations=work.tasks / M,
        sketches=0.0,
        seconds=time.perf_counter() - began,
        part_evaluations=work.parts / M,
    )
    if accepted:
        return Steered(trial, direction.ended(Status.ITERATION_LIMIT), base, (line,))
    status = Status.LINE_SEARCH_FAILED if base.finite else Status.NON_FINITE_NOMINAL
    return Steered(base, direction.ended(status), base, (line,))


def _completed(
    nominal: Trajectory, trial: Trajectory, left_out: Mapping[int, LeftOut]
) -> Trajectory:
    """The nominal with the cost of the mini-batches that it did not look at: the training's, and
    what the steps that it left out would have changed later."""
    costs, counted = list(nominal.state_costs), list(nominal.payload.counted)
    for t, stage in left_out.items():
        counted[t] = trial.payload.counted[t]
        costs[t] = trial.state_costs[t] + stage.worth
    return replace(nominal, state_costs=costs, payload=replace(nominal.payload, counted=counted))


def _promised(
    trial: Trajectory, nominal: Trajectory, left_out: Mapping[int, LeftOut], prior: Prior
) -> float:
    """Decrease that the weights of the mini-batches promise that the nominal did not look at."""
    total = 0.0
    for t, stage in left_out.items():
        w, u = trial.actions[t].to(stage.g), nominal.actions[t].to(stage.g)
        precision = float(prior.precisions(len(trial.actions))[t])
        change = (w - prior.mu).square().sum() - (u - prior.mu).square().sum()
        total -= float(stage.g @ (w - u)) + 0.5 * precision * float(change)
    return total


def by_chance(mine: Sequence[Tensor], theirs: Sequence[Tensor], targets: bool) -> float:
    """By how much the sum of `mine` may be above that of `theirs`: so many standard errors of the
    difference, from the differences of single tasks."""
    each = torch.cat([a - b for a, b in zip(mine, theirs, strict=True)])
    if len(each) < 2:
        return 0.0
    return (CHANCE_WITH_TARGETS if targets else CHANCE) * float(each.std()) * math.sqrt(len(each))


def nearest(weights: Tensor, bounds: BoundsKind, held: Tensor | None = None) -> Tensor:
    """The feasible weights nearest to `weights [M]`, float64; on the simplex `held` ones are 0."""
    if bounds == "simplex":
        still = None if held is None else held.cpu().numpy()[None]
        rows = project_simplex(weights.cpu().numpy()[None], still)
        return torch.from_numpy(rows[0]).to(weights.device)
    return weights.clamp_min(0.0)
