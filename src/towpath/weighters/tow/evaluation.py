"""Evaluations at the states of a rollout: the mini-batch that is stepped on, and the cost.

Stage 1 is evaluated once: its state is given, and its curvature does not enter the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from towpath.control import Work
from towpath.dynamics import State
from towpath.objective import Columns, CurvatureUsed, Evaluation
from towpath.objective.live import Values
from towpath.weighters.tow.cost import CostTasks
from towpath.weighters.tow.part import Look
from towpath.weighters.tow.rollout import CostTerms
from towpath.weighters.tow.setting import Setting


@dataclass(frozen=True, eq=False)
class StageAnswer:
    """The evaluation of a mini-batch at the state before its step."""

    here: Evaluation
    buffers: Values
    """the model's buffers after the passes, if these were part of training"""
    work: Work


@dataclass(frozen=True, eq=False)
class CostAnswer:
    """The evaluation of the cost's tasks at the state after a step."""

    losses: Tensor
    """`[n]`, float64"""
    bad: list[int]
    """tasks whose loss or gradient is not finite"""
    terms: CostTerms | None
    """derivatives, if they were requested"""
    work: Work


class Evaluator:
    """Evaluates the objective along the rollouts of one setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self._first: StageAnswer | None = None
        self.curvature_used: set[CurvatureUsed] = set()
        """which curvature the losses allowed in the evaluations so far"""

    def stage(
        self,
        t: int,
        state: State,
        buffers: Values,
        w: Tensor | None,
        *,
        derivatives: bool,
        columns: bool,
    ) -> StageAnswer:
        """Return losses and gradients of mini-batch t.

        Args:
            t: the number of the mini-batch.
            state: parameters and moments before its step.
            buffers: the model's buffers there.
            w: `[M]`, the weights of the step; None if they depend on this evaluation. The curvature
                is then that of single tasks, one row each, and `weighted_curvature` sums it up.
            derivatives: whether the rollout will be modelled.
            columns: whether single gradients are needed even if it will not.
        """
        if t == 0 and self._first is not None:
            return self._first
        setting = self.setting
        counts = setting.cost.counts(t, setting.shape[0])
        look = setting.view.look(t, derivatives=derivatives, counts=counts)
        if look is None:
            return StageAnswer(self._nothing(state), buffers, Work())
        curvature = None
        if derivatives and t > 0:
            rows = torch.eye(setting.shape[1]) if w is None else curvature_rows(w, counts=counts)
            curvature = setting.modelling.curvature_of(*rows.to(state.x))
        evaluate = partial(
            self._ask,
            t,
            state,
            look.tasks,
            curvature=curvature,
            skip=setting.muted.at(t),
            columns=derivatives or t == 0 or columns,
            watched=look.watched,
            without=setting.aside if look.in_part else (),
        )
        if look.in_part:
            here = setting.start.untouched(evaluate)
        else:
            here, buffers = setting.start.training(buffers, evaluate, setting.ranks)
        work = look.work(curvature.probes if curvature else 0)
        if t == 0:
            self._first = StageAnswer(here, buffers, Work())  # the next use costs nothing
        return StageAnswer(here, buffers, work)

    def cost(self, t: int, state: State, asked: CostTasks, *, derivatives: bool) -> CostAnswer:
        """Return the losses of the cost's tasks at the state after the step of mini-batch t.

        Args:
            t: the number of the mini-batch.
            state: parameters and moments after its step.
            asked: the tasks to evaluate.
            derivatives: whether the rollout will be modelled.
        """
        setting, modelling = self.setting, self.setting.modelling
        curvature = None
        if derivatives:
            curvature = modelling.curvature_of(state.x.new_ones(len(asked.tasks)))
        here = setting.start.untouched(
            partial(
                self._ask,
                t + 1,  # the cost at x_{t+1} shares the masks of the stage that starts there
                state,
                asked.tasks,
                curvature=curvature,
                skip=asked.skip,
                gradients=derivatives,
                columns=True,
                all_used=False,
                without=setting.aside,
            )
        )
        work = Look(asked.tasks, in_part=asked.in_part).work(curvature.probes if curvature else 0)
        # a gradient that is not finite leaves the trajectory finite: the model reports it
        losses, bad = here.losses.double(), here.bad_indices()
        if not derivatives:
            return CostAnswer(losses, bad, None, work)
        assert isinstance(here.held, Columns)
        J = here.held.values
        C_xx = J.new_zeros(J.shape[1]) if here.curvature is None else here.curvature[0].clamp_min(0)
        terms = CostTerms(J.sum(0), C_xx, setting.cost.halves(t, J))
        return CostAnswer(losses, bad, terms, work)

    def _nothing(self, state: State) -> Evaluation:
        """Return the result for a mini-batch that is not evaluated: no loss, no gradient."""
        ranks, own, M = self.setting.ranks, self.setting.own(state).x, self.setting.shape[1]
        columns = Columns(own.new_zeros(1, 1).expand(M, len(own)), len(state.x), ranks)
        unknown = own.new_full((M,), torch.nan)
        return Evaluation(unknown, torch.ones_like(unknown, dtype=torch.bool), columns, None, None)

    def _ask(self, t: int, state: State, tasks: Sequence[Any], **options: Any) -> Evaluation:
        """Evaluate the objective at a state, with the random draws of stage t."""
        params = self.setting.start.layout.unflatten(state.x)
        seed = self.setting.seeds[t]
        here = self.setting.objective.evaluate(params, tasks, seed=seed, **options)
        self.curvature_used |= here.curvature_used
        return here


def curvature_rows(w: Tensor, *, counts: bool) -> Tensor:
    """Return the weights `[j, M]` of the curvature's sums: the step's, and the cost's if it counts.

    Args:
        w: `[M]`, the weights of the step.
        counts: whether the losses of the mini-batch are part of the cost.
    """
    return torch.stack([w, torch.ones_like(w)] if counts else [w])


def weighted_curvature(here: Evaluation, w: Tensor, *, counts: bool) -> Evaluation:
    """Return an evaluation with sums of the curvature in place of that of single tasks.

    Args:
        here: has the curvature of each task, or none at all.
        w: `[M]`, the weights of the step.
        counts: whether the losses of the mini-batch are part of the cost.
    """
    if here.curvature is None:
        return here
    rows = curvature_rows(w, counts=counts)
    sums = here.curvature.new_zeros(len(rows), here.curvature.shape[1])
    for i, h in enumerate(here.curvature):  # in task order, as an evaluation adds them up
        sums.addr_(rows[:, i].to(sums), h)
    return replace(here, curvature=sums)


def step_curvature(here: Evaluation) -> Tensor:
    """Return the weighted loss's curvature `[P]` at the rank's own coordinates: row 0."""
    J = here.held.values
    return J.new_zeros(J.shape[1]) if here.curvature is None else here.curvature[0]


def own_cost(here: Evaluation) -> CostTerms:
    """Return the cost terms of a mini-batch's own losses (row 1 of the curvature's sums)."""
    J = here.held.values
    # Hutchinson may be negative: the cost is kept convex, the dynamics keep the sign
    # (in place: the row is this stage's own, and a copy would be one of the largest things kept)
    C_xx = J.new_zeros(J.shape[1]) if here.curvature is None else here.curvature[1].clamp_min_(0)
    return CostTerms(None, C_xx)
