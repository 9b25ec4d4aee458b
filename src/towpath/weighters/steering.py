"""Planning on a part of the tasks: costates from a cheap rollout, weights from the training itself.

    nominal   a rollout with uniform weights on a part of each query set   -> lam_{t+1} [k, P]
    training  at x_t the whole mini-batch is evaluated anyway              -> J_t [M, P]
              g_t = F_u,t' lam_{t+1},   F_u,t = b_t J_t'
              w_t = the feasible weights nearest to mu - g_t / beta

The costate sums the gradients of many tasks, so a part of their images says enough; a task's own
gradient does not average out, and is taken whole. Without curvature the quadratic model is beta I
and w_t is its exact minimiser. The trial is the training: its cost is estimated from the parts of
every other task. The nominal took other steps (those of the parts), so the two differ by chance,
too: the trial is accepted unless it is above the nominal by more than one standard error of the
difference over the tasks. Where it is, training with uniform weights decides: both are rolled out
on whole tasks then, and the cheaper one is kept.
"""

import time
from dataclasses import dataclass

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
from towpath.weighters.window import WindowProblem


@dataclass(frozen=True, eq=False)
class Steered:
    """The accepted trajectory, or the nominal, which may still be to be trained."""

    trajectory: Trajectory
    status: Status
    nominal: Trajectory
    """what the accepted one was compared with"""
    history: tuple[Iteration, ...] = ()


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
        return Steered(nominal, Status.NO_SIGNIFICANT_DECREASE, nominal)
    costates = dict(backward_costates(model))
    del model
    T, M = nominal.actions.shape
    precisions = prior.precisions(T)

    def decide(t: int, state: State, J: Tensor) -> Tensor:
        b = problem.linearise(state, J.mean(0)).b
        g = problem.ranks.total((J @ (b * costates[t]).sum(0)).double())
        return nearest(prior.mu - g / precisions[t], bounds)

    uniform = nominal.actions
    trial = problem.rollout(lambda t, z: uniform[t], derivatives=False, decide=decide)  # noqa: ARG005
    work, base = trial.work, nominal
    change = trial.cost(prior) - nominal.cost(prior)
    accepted = trial.finite and change <= _chance(trial, nominal)
    if not accepted:
        base = problem.rollout(lambda t, z: uniform[t], derivatives=False)  # noqa: ARG005
        work = work + base.work
        change = trial.cost(prior) - base.cost(prior)
        accepted = trial.finite and (not base.finite or change <= 0.0)
    line = Iteration(
        cost=(trial if accepted else base).cost(prior),
        predicted=direction.predicted_decrease(1.0) if accepted else 0.0,
        actual=-change if accepted else 0.0,
        eps=1.0 if accepted else 0.0,
        trials=1,
        evaluations=work.tasks / M,
        sketches=0.0,
        seconds=time.perf_counter() - began,
        part_evaluations=work.parts / M,
    )
    if accepted:
        return Steered(trial, Status.ITERATION_LIMIT, base, (line,))
    status = Status.LINE_SEARCH_FAILED if base.finite else Status.NON_FINITE_NOMINAL
    return Steered(base, status, base, (line,))


def _chance(trial: Trajectory, nominal: Trajectory) -> float:
    """Standard error of the difference of two costs, from the differences of single tasks."""
    pairs = zip(trial.payload.counted, nominal.payload.counted, strict=True)
    each = torch.cat([mine - theirs for mine, theirs in pairs])
    return float(each.std() * len(each) ** 0.5) if len(each) > 1 else 0.0


def nearest(weights: Tensor, bounds: BoundsKind) -> Tensor:
    """The feasible weights nearest to `weights [M]`, float64."""
    if bounds == "simplex":
        rows = project_simplex(weights.cpu().numpy()[None])
        return torch.from_numpy(rows[0]).to(weights.device)
    return weights.clamp_min(0.0)
