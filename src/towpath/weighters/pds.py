"""PDS: scores of tasks from the costate of plain SGD, over a whole window (Gu et al. 2025).

    x_{t+1} = x_t - lr J_t' u_t            plain SGD from the window's beginning, u = 1/M
    J       = sum_t sum_{j in targets_t} l_j(x_{t+1})
    lam     = dJ/dx                        backwards, with exact Hessian products
    score_i = lr g_i(x_t) . lam_{t+1}      = -dJ/du_{t,i}: what a task does for all later targets

What TOW adds to it: the optimiser's full state, a constrained quadratic programme, a line search,
and agreement of the targets. The rollout, the products and the costate are TOW's own.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from towpath.control import Status, Trajectory, costate_gradient
from towpath.control.bounds import bounds_of
from towpath.dynamics import by_plain_sgd
from towpath.objective import Objective
from towpath.validation import at_least, between
from towpath.weighters.card import Card, Point
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import Plan
from towpath.weighters.rules.selection import share_of
from towpath.weighters.start import ModelLike, OptimizerLike, Start
from towpath.weighters.tow.cost import TargetTasks
from towpath.weighters.tow.nominal import GivenNominal
from towpath.weighters.tow.part import WholeView
from towpath.weighters.tow.planning import Staying, plan_window
from towpath.weighters.tow.prior import GivenBeta
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.rollout import Rollout
from towpath.weighters.tow.setting import Modelling, Setting
from towpath.weighters.window import Window, check_call, checked_targets, checked_window
from towpath.weighters.work import WindowWork

PRODUCT = 5.5
"""a Hessian product over an evaluation of a loss and its gradient: from one measurement of PDS on a
Conv4 ProtoNet (`python -m benchmarks weighters`), 6.0 of uniform at T = 3"""


@dataclass(frozen=True)
class PDS:
    """Optimal control for data selection (Gu et al. 2025), on the tasks of a window.

    The window's tasks are scored along plain SGD with equal weights; each mini-batch weighs
    `softmax(score / (tau sd))`, sd the standard deviation of its scores; then training goes through
    the window with the real optimiser. The horizon is the window's T (`training.horizon`; the
    published setting corresponds to 20).

    Args:
        tau: the temperature; larger is closer to equal weights.
        keep: None for the softmax, or the share of each mini-batch's tasks (0.4 in the paper) that
            share the weight equally, those of the highest scores.
    """

    wants_targets: ClassVar[bool] = True
    wants_judges: ClassVar[bool] = False
    plans_windows: ClassVar[bool] = True
    card: ClassVar[Card] = Card(
        formula="`softmax(score / (tau sd))`, `score_i = lr g_i(x_t) . lam_{t+1}`, lam the costate "
        "of plain SGD over the window with exact Hessian products; or the best 40 per cent",
        assumes="targets; the training moves as plain SGD with equal weights would",
        costs="a second pass through the window, the targets, and a Hessian product a task",
        fails="with Adam, whose steps are not those of SGD; where scores differ by chance only",
        reference="Gu et al. 2025",
        point=Point("the window", "plain SGD", "softmax, or the best share", "none"),
    )

    tau: float = 1.0
    keep: float | None = None

    def __post_init__(self) -> None:
        at_least("PDS", "tau", self.tau, 0.0)
        if self.tau == 0:
            raise ValueError("PDS found tau=0; expected a temperature above 0, such as 1.")
        if self.keep is not None:
            between("PDS", "keep", self.keep, 0.0, 1.0)
            if self.keep == 0:
                raise ValueError("PDS found keep=0; expected a share above 0, such as 0.4.")

    def plan(
        self,
        objective: Objective,
        model: ModelLike,
        optimizer: OptimizerLike,
        window: Window,
        *,
        targets: Window | None = None,
        muted: Muted = NOTHING_MUTED,
        state: Mapping[str, Any] | None = None,  # noqa: ARG002  PDS remembers nothing
        seed: int = 0,
    ) -> Plan:
        """Score the window's tasks by the targets, then train through the window.

        Args:
            objective, model, optimizer, window, muted, state, seed: as for `TOW.plan`.
            targets: T lists of trusted tasks, which are required.
        """
        began = time.perf_counter()
        check_call(objective, seed)
        tasks = checked_window(window)
        if targets is None:
            raise ValueError(
                "PDS found no targets; expected targets=T lists of trusted tasks, which it weighs "
                "the window's tasks by. Pass targets; in a recipe, set trusted.count."
            )
        goals = checked_targets(targets, len(tasks))
        assert goals is not None
        start = Start.of(model, optimizer)
        T, M = len(tasks), len(tasks[0])
        equal = _equal_weights(T, M, muted)
        view = WholeView(tasks)
        by_sgd, exact = _by_plain_sgd(start), Modelling(exact_adjoint=True)
        scoring = WindowProblem(
            Setting(objective, by_sgd, view, TargetTasks(goals), exact, muted, seed)
        )
        scored = scoring.rollout(lambda t, z: equal[t], derivatives=True)  # noqa: ARG005
        weights = self._weigh(scoring, scored, equal) if scored.finite else None
        status = Status.RULE if weights is not None else Status.NON_FINITE_DERIVATIVE
        training = Setting(objective, start, view, muted=muted, seed=seed)
        plan = plan_window(
            WindowProblem(training),
            GivenNominal(equal if weights is None else weights),
            bounds_of("project"),
            GivenBeta(math.inf),
            Staying(),
            began,
        )
        if not scored.finite:  # without finite scores there are no weights to train with
            plan = replace(plan, final=plan.initial, optimizer_state=start.optimizer)
            status = Status.NON_FINITE_NOMINAL
        elif not plan.status.usable:
            status = plan.status
        return replace(
            plan,
            status=status,
            bad=plan.bad | scored.kept.bad,
            evaluations=plan.evaluations + scored.work.tasks / M,
            products=scoring.modeller.products / M,
        )

    def expected_work(self, T: int, targets: float, inertia: float) -> WindowWork:  # noqa: ARG002
        """Return the expected work of a window, which is scored, then trained on.

        Args:
            T: number of mini-batches of the window.
            targets: number of targets of a mini-batch, as a share of M.
            inertia: not used, because PDS leaves no mini-batch out.
        """
        return WindowWork(2 * T + T * targets + PRODUCT * (T - 1))

    def _weigh(
        self, problem: WindowProblem, nominal: Trajectory[Rollout], equal: Tensor
    ) -> Tensor | None:
        """Return the weights `[T, M]`, or None if a derivative is not finite."""
        scores = -costate_gradient(problem.model(nominal, last=True)).cpu()
        if not bool(torch.isfinite(scores).all()):
            return None
        rows = torch.zeros_like(equal)
        for t, row in enumerate(scores):
            seen = torch.nonzero(equal[t])[:, 0]
            rows[t, seen] = self._row(row[seen])
        return rows

    def _row(self, scores: Tensor) -> Tensor:
        if self.keep is not None:
            k = share_of(self.keep, len(scores))
            w = torch.zeros_like(scores)
            w[torch.argsort(scores, descending=True, stable=True)[:k]] = 1.0 / k
            return w
        deviation = scores.std(correction=0)
        if float(deviation) == 0.0:
            return torch.full_like(scores, 1.0 / len(scores))
        return (scores / (self.tau * deviation)).softmax(0)


def _by_plain_sgd(start: Start) -> Start:
    """Return the same start with an optimiser that has no moments."""
    optimizer = by_plain_sgd(start.optimizer)
    return replace(start, optimizer=optimizer, state=optimizer.at(start.state.x))


def _equal_weights(T: int, M: int, muted: Muted) -> Tensor:
    """Return `[T, M]`, equal over the tasks that are not muted, or over all if all of them are."""
    weights = torch.ones(T, M, dtype=torch.float64, device="cpu")
    held = muted.held(T, M)
    if held is not None:
        weights = weights.masked_fill(held, 0.0)
    return weights / weights.sum(1, keepdim=True)
