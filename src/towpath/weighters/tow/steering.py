"""Steering: costates from a cheap rollout on a part, weights from the training itself.

    nominal   a rollout with uniform weights on a part of each query set   -> lam_{t+1} [k, P]
    training  at x_t the whole mini-batch is evaluated anyway              -> J_t [M, P]
              g_t = F_u,t' lam_{t+1},   F_u,t = b_t J_t'
              w_t = the feasible weights nearest to mu - g_t / beta

The costate sums the gradients of many tasks, so a part of their images is enough; a task's own
gradient does not average out, and is taken whole. Without curvature the quadratic model is beta I
and w_t is its exact minimiser. Where the optimiser has momentum, the nominal does not evaluate the
first mini-batches after the first (`TOW.coasting`), which depend little on a weight. Their own
weights are planned like the others', and the step that the nominal left out is made up for in its
cost: how far it would have led, with the gradients that training finds there, times `lam_{t+1}`.

The trial is the training: its cost is estimated from the parts of every other task of the
mini-batches that the nominal evaluated. The nominal took other steps (those of the parts), so the
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
    ActionPrior,
    Convex,
    Improvement,
    Iteration,
    Policy,
    Status,
    Trajectory,
    Work,
    backward_costates,
)
from towpath.control.difference import rounding
from towpath.dynamics import State
from towpath.objective import Evaluation
from towpath.weighters.tow.problem import Decide, WindowProblem
from towpath.weighters.tow.rollout import Rollout


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The data that training found at a mini-batch that the nominal did not evaluate."""

    g: Tensor
    """`dJ/du_t [M]`, float64"""
    worth: float
    """change of the later costs by a step with the nominal's weights instead of none"""


@dataclass(frozen=True)
class Steering:
    """Trains through the window with weights that follow the nominal's costates."""

    bounds: Convex
    tolerance: float

    def improve(
        self, problem: WindowProblem, nominal: Trajectory[Rollout], prior: ActionPrior
    ) -> Improvement[Rollout]:
        """Return the training with these weights or with the nominal's, whichever is accepted."""
        began = time.perf_counter()
        model = problem.model(nominal, last=True)
        direction = self.bounds.direction(model, nominal.actions, prior, "exact")
        if isinstance(direction, Status):
            return Improvement(nominal, direction)
        if direction.stationarity <= self.tolerance:
            return Improvement(nominal, Status.CONVERGED)
        if abs(direction.theta) < rounding(problem, nominal, prior):
            return Improvement(nominal, direction.ended(Status.NO_SIGNIFICANT_DECREASE))
        costates = dict(backward_costates(model))
        del model
        policy = as_in(nominal)
        left_out: dict[int, LeftOut] = {}
        decide = self._decision(problem, nominal, prior, costates, left_out)
        trial = problem.rollout(policy, derivatives=False, decide=decide)
        predicted = direction.predicted_decrease(1.0)
        if trial.finite:
            nominal = _completed(nominal, trial, left_out)
            predicted += _promised(trial, nominal, left_out, prior)
        errors = problem.setting.cost.chance
        found = decided(problem, nominal, trial, prior, predicted, began, errors=errors)
        return replace(found, status=direction.ended(found.status))

    def _decision(
        self,
        problem: WindowProblem,
        nominal: Trajectory[Rollout],
        prior: ActionPrior,
        costates: Mapping[int, Tensor],
        left_out: dict[int, LeftOut],
    ) -> Decide:
        """Return the function that decides a mini-batch's weights; it also fills `left_out`."""
        setting, modeller = problem.setting, problem.modeller
        uniform = nominal.actions
        precisions = prior.precisions(len(uniform))

        def decide(t: int, whole: State, here: Evaluation) -> Tensor:
            """Return the weights of mini-batch t from its gradients J at the rank's coordinates."""
            state, J = setting.own(whole), here.held.values
            lin = modeller.linearise(t, state, J.mean(0))
            g = setting.ranks.total((J @ lin.removed((lin.b * costates[t]).sum(0))).double())
            if t in setting.view.coasts:
                step = modeller.moved(t, state, uniform[t].to(J) @ J)
                worth = setting.ranks.total((costates[t] * step).sum(dtype=torch.float64))
                left_out[t] = LeftOut(g, float(worth))
            return self.bounds.project(prior.mean(t) - g / precisions[t], setting.held_at(t))

        return decide


def decided(
    problem: WindowProblem,
    nominal: Trajectory[Rollout],
    trial: Trajectory[Rollout],
    prior: ActionPrior,
    predicted: float,
    began: float,
    *,
    errors: float,
) -> Improvement[Rollout]:
    """Return the trial that trained, or training with the nominal's weights if that is cheaper.

    The nominal was not trained on, so that it differs from training by chance, too.

    Args:
        problem: the window as a control problem.
        nominal: the trajectory that was planned on, with the cost of training estimated.
        trial: training with the planned weights.
        prior: the prior of the weights.
        predicted: the decrease that was predicted for the trial.
        began: the time when planning began, on the clock `time.perf_counter`.
        errors: the standard errors by which the trial may be above the nominal.
    """
    work, base = trial.work, nominal
    counted = trial.task_costs, nominal.task_costs
    change = _cost(trial, prior) - nominal.cost(prior)
    accepted = trial.finite and change <= by_chance(*counted, errors)
    if not accepted:  # training with the nominal's weights decides
        trained = problem.rollout(as_in(nominal), derivatives=False)
        work = work + trained.work
        if trained.finite or not trial.finite:
            base, change = trained, _cost(trial, prior) - _cost(trained, prior)
        accepted = trial.finite and (not trained.finite or change <= 0.0)
    seconds = time.perf_counter() - began
    M = nominal.actions.shape[1]
    if accepted:
        line = _line(trial.cost(prior), predicted, -change, 1.0, work, M, seconds)
        return Improvement(trial, Status.ITERATION_LIMIT, (line,), compared_with=base)
    line = _line(_cost(base, prior), 0.0, 0.0, 0.0, work, M, seconds)
    status = Status.LINE_SEARCH_FAILED if base.finite else Status.NON_FINITE_NOMINAL
    return Improvement(base, status, (line,), compared_with=base)


def _cost(trajectory: Trajectory[Rollout], prior: ActionPrior) -> float:
    """Return the cost of a trajectory, NaN if it broke off before the end of the window."""
    return trajectory.cost(prior) if trajectory.finite else math.nan


def as_in(trajectory: Trajectory[Rollout]) -> Policy:
    """Return a policy with the actions of a trajectory, whatever the states are."""
    actions = trajectory.actions
    return lambda t, z: actions[t]  # noqa: ARG005


def _line(
    cost: float,
    predicted: float,
    actual: float,
    eps: float,
    work: Work,
    M: int,
    seconds: float,
) -> Iteration:
    """Return the only entry of the history; a rejected trial has no decrease and no step size.

    Args:
        cost: the cost of the accepted trajectory.
        predicted: the decrease that the model predicted.
        actual: the decrease of the true cost.
        eps: the step size.
        work: the work of the trial, and of the training that decided on it.
        M: the number of tasks of a mini-batch.
        seconds: the time since planning began.
    """
    return Iteration(
        cost=cost,
        predicted=predicted,
        actual=actual,
        eps=eps,
        trials=1,
        evaluations=work.tasks / M,
        sketches=0.0,
        seconds=seconds,
        part_evaluations=work.parts / M,
    )


def _completed(
    nominal: Trajectory[Rollout], trial: Trajectory[Rollout], left_out: Mapping[int, LeftOut]
) -> Trajectory[Rollout]:
    """Return the nominal with the cost of the mini-batches that it did not evaluate.

    The cost is that found in training, and what the nominal's omitted steps would have changed
    later.
    """
    costs, counted = list(nominal.state_costs), list(nominal.task_costs)
    for t, stage in left_out.items():
        counted[t] = trial.task_costs[t]
        costs[t] = trial.state_costs[t] + stage.worth
    return replace(nominal, state_costs=costs, task_costs=counted)


def _promised(
    trial: Trajectory[Rollout],
    nominal: Trajectory[Rollout],
    left_out: Mapping[int, LeftOut],
    prior: ActionPrior,
) -> float:
    """Return the decrease predicted for the mini-batches that the nominal did not evaluate."""
    total = 0.0
    for t, stage in left_out.items():
        w, u = trial.actions[t].to(stage.g), nominal.actions[t].to(stage.g)
        precision = float(prior.precisions(len(trial.actions))[t])
        mean = prior.mean(t)
        change = (w - mean).square().sum() - (u - mean).square().sum()
        total -= float(stage.g @ (w - u)) + 0.5 * precision * float(change)
    return total


def by_chance(mine: Sequence[Tensor], theirs: Sequence[Tensor], errors: float) -> float:
    """Return by how much the sum of `mine` may exceed that of `theirs` by chance.

    It is the given number of standard `errors` of the difference, estimated from single tasks.
    """
    each = torch.cat([a - b for a, b in zip(mine, theirs, strict=True)])
    if len(each) < 2:
        return 0.0
    return errors * float(each.std()) * math.sqrt(len(each))
