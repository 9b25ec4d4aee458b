"""The iterative linear quadratic regulator: model the trajectory, choose a direction, search along
it through the true dynamics, accept or halve, repeat.

Control knows nothing of learning: it sees a `Problem` that rolls a policy out and models the
result. The returned trajectory is never worse than the nominal.
"""

import time
from dataclasses import dataclass
from typing import Generic

from towpath.control.bounds.bounds import Bounds
from towpath.control.descent import Direction
from towpath.control.difference import rounding
from towpath.control.prior import ActionPrior
from towpath.control.search import Outlook, Search, Step
from towpath.control.status import Status
from towpath.control.sweep import ValueKind
from towpath.control.trajectory import Kept, Problem, Trajectory


@dataclass(frozen=True)
class Iteration:
    """The figures of one iLQR iteration, one entry of `plan.history`."""

    cost: float
    predicted: float
    actual: float
    eps: float
    trials: int
    evaluations: float
    """mini-batch evaluations (losses and gradients of M tasks)"""
    sketches: float
    seconds: float
    part_evaluations: float = 0.0
    """mini-batch evaluations on a part of the query sets"""


@dataclass(frozen=True, eq=False)
class Improvement(Generic[Kept]):
    """The accepted trajectory, the reason why the solver stopped, and its history."""

    trajectory: Trajectory[Kept]
    status: Status
    history: tuple[Iteration, ...] = ()
    curvature_ratio: float = 0.0
    compared_with: Trajectory[Kept] | None = None
    """the trajectory that the accepted one was compared with, if it is not the given nominal"""
    outlook: Outlook | None = None
    """what the solution says about the next problem; None if the solver does not search"""


def ilqr(
    problem: Problem[Kept],
    nominal: Trajectory[Kept],
    prior: ActionPrior,
    *,
    bounds: Bounds,
    value: ValueKind,
    iterations: int,
    tolerance: float,
    search: Search,
) -> Improvement[Kept]:
    """Improve a finite nominal trajectory, rolled out with derivatives.

    A trajectory's derivatives are freed as soon as its direction is known, and a rejected trial
    before the next, so that memory has two sets of gradients `[T, M, P]` only if both are used. An
    iteration after the first is not begun if chance would hide its decrease (`Search.hides`), or
    if it was so unlikely that the accepted trial has no derivatives (`Step.modelled`).

    Args:
        problem: rolls policies out and models trajectories.
        nominal: the trajectory to start from.
        prior: the prior of the actions.
        bounds: the feasible actions, and the method that finds a direction among them.
        value: the value function from which feedback gains are computed.
        iterations: the largest number of directions to follow.
        tolerance: actions with a smaller measure of stationarity count as stationary.
        search: the line search along a direction.
    """
    history: list[Iteration] = []
    current, ratio, noise, status = nominal, 0.0, 0.0, Status.ITERATION_LIMIT
    first: Outlook | None = None
    for iteration in range(iterations):
        began = time.perf_counter()
        direction = _direction(problem, current, prior, bounds, value)
        if isinstance(direction, Status):
            status = direction
            break
        ratio, slack = max(ratio, direction.curvature_ratio), rounding(problem, current, prior)
        hidden = abs(direction.theta) < slack or search.hides(direction, search.first, noise)
        if direction.stationarity <= tolerance or hidden:
            status = _nothing_left(direction, tolerance)
            break
        status = direction.ended(status)
        last = iteration == iterations - 1
        modelled = not last and (iteration > 0 or search.prepares)
        way = (direction, problem, current, prior)
        step = search.along(*way, slack=slack, allows=bounds.allows, derivatives=modelled)
        history.append(_line(current, direction, step, prior, time.perf_counter() - began))
        if step.accepted is None:
            status = direction.ended(step.failure)
            break
        current, noise = step.accepted, step.noise
        first = first or Outlook(step.eps, step.surprising)
        if not step.modelled:
            status = status if last else direction.ended(Status.NO_SIGNIFICANT_DECREASE)
            break
        search = search.after(1.0)
        del direction, step, way  # frees the previous gradients, which the gains refer to
    outlook = _outlook(first, len(history), iterations, search)
    return Improvement(current, status, tuple(history), ratio, outlook=outlook)


def _outlook(first: Outlook | None, begun: int, iterations: int, search: Search) -> Outlook:
    """Return what the next problem may expect.

    Args:
        first: the step size of the first search, and whether its trial was a surprise; None if no
            trial was accepted, and what was known before still stands.
        begun: how many iterations were begun.
        iterations: how many were asked for.
        search: knows whether a second iteration was prepared.
    """
    if first is None:
        return search.outlook
    if iterations == 1:
        return Outlook(first.eps)
    return Outlook(first.eps, begun > 1 if search.prepares else first.further)


def _direction(
    problem: Problem[Kept],
    current: Trajectory[Kept],
    prior: ActionPrior,
    bounds: Bounds,
    value: ValueKind,
) -> Direction | Status:
    """Return the direction from a trajectory that will not be modelled again."""
    model = problem.model(current, last=True)
    return bounds.direction(model, current.actions, prior, value)


def _nothing_left(direction: Direction, tolerance: float) -> Status:
    """Return why a direction is not followed: it is stationary, or its decrease cannot be seen."""
    if direction.stationarity <= tolerance:
        return Status.CONVERGED
    return direction.ended(Status.NO_SIGNIFICANT_DECREASE)


def _line(
    current: Trajectory[Kept],
    direction: Direction,
    step: Step[Kept],
    prior: ActionPrior,
    seconds: float,
) -> Iteration:
    """Return the entry of the history for one iteration."""
    before = current.cost(prior)
    after = step.accepted.cost(prior) if step.accepted else before
    M = current.actions.shape[1]
    return Iteration(
        cost=after,
        predicted=direction.predicted_decrease(step.eps) if step.accepted else 0.0,
        actual=before - after,
        eps=step.eps,
        trials=step.trials,
        evaluations=step.work.tasks / M,
        sketches=step.work.sketches / M,
        seconds=seconds,
        part_evaluations=step.work.parts / M,
    )
