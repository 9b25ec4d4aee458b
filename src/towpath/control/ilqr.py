"""The iterative linear quadratic regulator: model the trajectory, choose a direction, search along
it through the true dynamics, accept or halve, repeat.

Control knows nothing of learning: it sees a `Problem` that rolls a policy out and models the
result. The returned trajectory is never worse than the nominal.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from towpath.control.descent import (
    BoundsKind,
    Direction,
    Policy,
    Prior,
    constrained,
    feedback,
)
from towpath.control.stage import Model
from towpath.control.status import Status
from towpath.control.sweep import ValueKind


@dataclass(frozen=True, eq=False)
class Work:
    """What a rollout cost: tasks evaluated, tasks sketched, tasks evaluated in part."""

    tasks: int = 0
    sketches: int = 0
    parts: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.tasks + other.tasks, self.sketches + other.sketches, self.parts + other.parts
        )

    @property
    def any(self) -> bool:
        """Whether anything was evaluated."""
        return self.tasks + self.parts > 0


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A rollout through the true dynamics."""

    # what was done
    actions: Tensor
    """`[T, M]`, as they were used"""
    states: Sequence[Tensor]
    """z_t `[k, P]` before each stage"""
    # what it cost
    state_costs: list[float]
    """cost of the states, one number a stage, summed in float64"""
    finite: bool
    feasible: bool
    work: Work
    # what the problem needs to model it
    payload: Any = None

    def cost(self, prior: Prior) -> float:
        """J, prior included."""
        return math.fsum(self.state_costs) + prior.cost(self.actions)

    def magnitude(self, prior: Prior) -> float:
        """sum |c_t|: what the rounding of J is relative to."""
        return math.fsum(abs(c) for c in self.state_costs) + prior.cost(self.actions)


class Problem(Protocol):
    """What iLQR needs to know of the world."""

    @property
    def epsilon(self) -> float:
        """Rounding unit of the states' dtype."""
        ...

    def rollout(self, policy: Policy, *, derivatives: bool, nonnegative: bool) -> Trajectory:
        """Follow the policy through the true dynamics; stop early where it cannot be accepted."""
        ...

    def model(self, trajectory: Trajectory, *, last: bool, states: bool) -> Model:
        """Linear-quadratic model about a trajectory rolled out with derivatives.

        `last=True` says that it will not be modelled again: its derivatives are freed on the way,
        and its states unless `states` says that they are needed. The rest of it stays.
        """
        ...


FREE_HALVINGS = 30
"""bound on the steps that are refused without an evaluation"""


@dataclass(frozen=True)
class Search:
    """How far to go."""

    max_trials: int = 10
    sufficient_decrease: float = 0.1
    """c1 of the acceptance test"""


@dataclass(frozen=True)
class Iteration:
    """One line of a plan's history."""

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
class Result:
    """The accepted trajectory and how it came about."""

    trajectory: Trajectory
    status: Status
    history: list[Iteration]
    curvature_ratio: float


def ilqr(
    problem: Problem,
    nominal: Trajectory,
    prior: Prior,
    *,
    bounds: BoundsKind,
    value: ValueKind,
    iterations: int,
    tolerance: float,
    search: Search,
) -> Result:
    """Improve a finite nominal trajectory, rolled out with derivatives.

    Memory: a trajectory's derivatives are freed as soon as its direction is known, and a rejected
    trial before the next, so that no two sets of gradients `[T, M, P]` are held where one will do.
    """
    history: list[Iteration] = []
    current, ratio = nominal, 0.0
    status = Status.ITERATION_LIMIT
    nonnegative = bounds != "none"
    for iteration in range(iterations):
        began = time.perf_counter()
        direction = _direction(problem, current, prior, bounds, value)
        if isinstance(direction, Status):
            status = direction
            break
        ratio = max(ratio, direction.curvature_ratio)
        if direction.stationarity <= tolerance:
            status = Status.CONVERGED
            break
        slack = 8.0 * problem.epsilon * current.magnitude(prior)
        if abs(direction.theta) < slack:
            status = direction.ended(Status.NO_SIGNIFICANT_DECREASE)
            break
        status = direction.ended(status)
        last = iteration == iterations - 1
        step = _line_search(
            problem, current, direction, prior, slack, search, nonnegative, derivatives=not last
        )
        before = current.cost(prior)
        after = step.accepted.cost(prior) if step.accepted else before
        M = current.actions.shape[1]
        history.append(
            Iteration(
                cost=after,
                predicted=direction.predicted_decrease(step.eps) if step.accepted else 0.0,
                actual=before - after,
                eps=step.eps if step.accepted else 0.0,
                trials=step.trials,
                evaluations=step.work.tasks / M,
                sketches=step.work.sketches / M,
                seconds=time.perf_counter() - began,
                part_evaluations=step.work.parts / M,
            )
        )
        if step.accepted is None:
            status = direction.ended(Status.LINE_SEARCH_FAILED)
            break
        current = step.accepted
        del direction, step  # the gains hold the gradients of the trajectory before
    return Result(current, status, history, ratio)


def _direction(
    problem: Problem, current: Trajectory, prior: Prior, bounds: BoundsKind, value: ValueKind
) -> Direction | Status:
    closed_loop = bounds in ("backtrack", "none")
    model = problem.model(current, last=True, states=closed_loop)
    if closed_loop:
        return feedback(model, current.actions, current.states, prior, value)
    return constrained(model, current.actions, prior, bounds)


@dataclass(frozen=True, eq=False)
class _Step:
    accepted: Trajectory | None
    eps: float
    trials: int
    work: Work


def _line_search(
    problem: Problem,
    current: Trajectory,
    direction: Direction,
    prior: Prior,
    slack: float,
    search: Search,
    nonnegative: bool,
    *,
    derivatives: bool,
) -> _Step:
    """Halve eps until the true cost confirms the model.

    A step that is refused before anything was evaluated (a negative weight in the first
    mini-batch) costs nothing and does not count as a trial.
    """
    eps, work, trials = 1.0, Work(), 0
    J_hat = current.cost(prior)
    for _ in range(search.max_trials + FREE_HALVINGS):
        candidate = problem.rollout(
            direction.policy(eps), derivatives=derivatives, nonnegative=nonnegative
        )
        work = work + candidate.work
        trials += candidate.feasible or candidate.work.any
        if candidate.finite and candidate.feasible:
            change = candidate.cost(prior) - J_hat
            enough = search.sufficient_decrease * eps * direction.theta + slack
            if change <= 0.0 and change <= enough:
                return _Step(candidate, eps, trials, work)
        if trials >= search.max_trials:
            break
        del candidate  # before the next one grows
        eps *= 0.5
    return _Step(None, 0.0, trials, work)
