"""From a control problem to the plan that training receives.

The nominal is rolled out, a prior chosen, and a better trajectory searched for. The accepted
trajectory is the training; if it was planned on a part of the query sets, it is first trained on
the whole.
"""

import math
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from towpath.control import (
    ActionPrior,
    Bounds,
    Improvement,
    Outlook,
    Search,
    Status,
    Trajectory,
    ValueKind,
    Work,
    ilqr,
)
from towpath.weighters.plan import BuffersMoved, Plan
from towpath.weighters.tow.heading import Headed
from towpath.weighters.tow.nominal import Nominal, RolledNominal
from towpath.weighters.tow.prior import ChosenPrior, PriorChoice
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.rollout import Rollout
from towpath.weighters.tow.setting import Setting


class Solver(Protocol):
    """The interface of a method that searches for a better trajectory."""

    def improve(
        self, problem: WindowProblem, nominal: Trajectory[Rollout], prior: ActionPrior
    ) -> Improvement[Rollout]:
        """Return a trajectory no worse than a finite nominal rolled out with derivatives."""
        ...


@dataclass(frozen=True)
class Iterating:
    """The solver that iterates iLQR on whole query sets."""

    bounds: Bounds
    value: ValueKind
    iterations: int
    tolerance: float
    search: Search

    def improve(
        self, problem: WindowProblem, nominal: Trajectory[Rollout], prior: ActionPrior
    ) -> Improvement[Rollout]:
        """Repeat model, direction and line search until iLQR stops."""
        return ilqr(
            problem,
            nominal,
            prior,
            bounds=self.bounds,
            value=self.value,
            iterations=self.iterations,
            tolerance=self.tolerance,
            search=self.search,
        )


@dataclass(frozen=True)
class Staying:
    """The solver without iterations: the nominal is the plan."""

    def improve(
        self,
        problem: WindowProblem,  # noqa: ARG002
        nominal: Trajectory[Rollout],
        prior: ActionPrior,  # noqa: ARG002
    ) -> Improvement[Rollout]:
        """Return the nominal trajectory as the improvement."""
        return Improvement(nominal, Status.ITERATION_LIMIT)


def plan_window(
    problem: WindowProblem,
    start: Nominal,
    bounds: Bounds,
    choice: PriorChoice,
    solver: Solver,
    began: float,
) -> Plan:
    """Plan the weights of a window and train on it with them.

    Args:
        problem: the window as a control problem.
        start: makes the nominal trajectory.
        bounds: the set of feasible actions.
        choice: how the prior is chosen.
        solver: searches for a better trajectory than the nominal.
        began: the time when planning began, on the clock `time.perf_counter`.
    """
    looks = not isinstance(solver, Staying)
    rolled = start.rolled(problem, bounds, derivatives=looks)
    nominal, mean = rolled.trajectory, rolled.mean
    if not nominal.finite:
        chosen = ChosenPrior(choice.unasked(mean), ended=Status.NON_FINITE_NOMINAL)
    elif looks:
        chosen = choice.choose(problem, nominal, bounds, mean)
    else:
        chosen = ChosenPrior(choice.unasked(mean))
    if chosen.ended is None:
        found = solver.improve(problem, nominal, chosen.prior)
        chosen = found.chosen if isinstance(found, Headed) else chosen
    else:
        found = Improvement(nominal, chosen.ended)
    if found.status is Status.CONVERGED and not found.history and not _foresees(problem.setting):
        found = replace(found, status=Status.NOTHING_TO_PLAN)
    before = found.training if isinstance(found, Headed) else Work()
    found, extra = _trained(problem, found)
    plan = _plan(problem, rolled, chosen, found, before + extra)
    memory = _memory(rolled, found, solver)
    return replace(plan, weighter_state=memory, seconds=time.perf_counter() - began)


def _memory(rolled: RolledNominal, found: Improvement[Rollout], solver: Solver) -> dict[str, Any]:
    """Return what the next window starts from: the nominal's memory, and what the search found.

    A search that ended with a full step and may have a second iteration leaves nothing to remember,
    nor does a strict one.
    """
    memory: dict[str, Any] = {"nominal": rolled.memory} if rolled.memory else {}
    if not isinstance(solver, Iterating) or solver.search.chance == 0.0:
        return memory
    # the search of the window before, if nothing was searched for in this one
    outlook = solver.search.outlook if found.outlook is None else found.outlook
    return memory if outlook == Outlook() else {**memory, "search": asdict(outlook)}


def _foresees(setting: Setting) -> bool:
    """Return whether any loss is counted at a state that a step of the window leads to."""
    T, cost = setting.shape[0], setting.cost
    before_steps = any(cost.counts(t, T) for t in range(1, T))
    return before_steps or any(
        cost.after(t, setting.view, setting.muted) is not None for t in range(T)
    )


def _trained(
    problem: WindowProblem, found: Improvement[Rollout]
) -> tuple[Improvement[Rollout], Work]:
    """Train on whole query sets what was planned on a part; return it and the work that it took."""
    chosen = found.trajectory
    if chosen.kept.trained or not chosen.finite:
        return found, Work()
    actions = chosen.actions
    training = problem.rollout(lambda t, z: actions[t], derivatives=False)  # noqa: ARG005
    status = found.status if training.finite else Status.NON_FINITE_NOMINAL
    found = replace(found, trajectory=training, status=status, compared_with=training)
    return found, training.work


def _plan(
    problem: WindowProblem,
    rolled: RolledNominal,
    chosen: ChosenPrior,
    found: Improvement[Rollout],
    extra: Work,
) -> Plan:
    """Assemble the plan that training receives.

    Args:
        problem: the window as a control problem.
        rolled: the trajectory that planning started from.
        chosen: the prior.
        found: the trajectory that was accepted.
        extra: work of the training that followed a plan on a part.
    """
    setting, start = problem.setting, problem.setting.start
    nominal, before = rolled.trajectory, rolled.work
    accepted, history = found.trajectory, found.history
    M = nominal.actions.shape[1]
    # an infinite precision holds the weights at the nominal, where the prior costs nothing
    prior = chosen.prior if math.isfinite(chosen.prior.beta) else ActionPrior(0.0, chosen.prior.mu)
    finite = nominal.finite and accepted.finite
    total = nominal.work + extra
    # a nominal that broke off leads nowhere: the state stays where it began
    final = accepted.kept.final if finite else start.state
    weights = (accepted.kept.weights if finite else _first_weights(setting, rolled)).clone()
    for t in range(len(weights)):
        weights[t, list(setting.muted.at(t))] = 0.0  # a muted task moves nothing
    buffers = accepted.kept.buffers if finite else start.buffers
    return Plan(
        weights=weights,
        status=found.status,
        nominal_cost=(found.compared_with or nominal).cost(prior) if finite else math.nan,
        cost=accepted.cost(prior) if finite else math.nan,
        predicted_decrease=math.fsum(line.predicted for line in history),
        history=history,
        beta=chosen.prior.beta,
        agreement=chosen.agreement,
        curvature_ratio=found.curvature_ratio,
        losses=accepted.kept.losses,
        accuracies=accepted.kept.accuracies,
        # the nominal's as well: it may have been planned on while another trajectory was trained on
        bad=accepted.kept.bad | nominal.kept.bad,
        evaluations=before.evaluations
        + total.tasks / M
        + sum(line.evaluations for line in history),
        sketches=before.sketches + total.sketches / M + sum(line.sketches for line in history),
        products=before.products + problem.modeller.products / M,
        query_share=setting.view.share,
        part_evaluations=total.parts / M + sum(line.part_evaluations for line in history),
        seconds=0.0,
        layout=start.layout,
        initial=start.state,
        final=final,
        optimizer_state=start.optimizer.after(final),
        buffers=BuffersMoved.between(start.buffers, buffers),
        curvature_used=frozenset(problem.evaluator.curvature_used),
    )


def _first_weights(setting: Setting, rolled: RolledNominal) -> Tensor:
    """Return the nominal's weights `[T, M]`, whether or not its rollout broke off."""
    rows = enumerate(rolled.actions)
    weights = [setting.modelling.actions.weights(row, setting.held_at(t)) for t, row in rows]
    return torch.stack(weights).to(setting.start.state.x)
