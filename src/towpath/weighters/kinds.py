"""Kinds: the planned influence of tasks, pooled over kinds of task; a kind is kept or dropped.

    kinds     low and high: the two Gaussians fitted to the latest losses, as in `mixture`
    s_{t,i}   -dJ/du_{t,i} along the window: what one more unit of a task's weight does for all
              later targets, J = sum_t sum_{j in targets_t} l_j(x_{t+1}), by TOW's costate without
              curvature
    p_k       posterior probability that a task is of kind k, from its loss
    mean_k    sum p_k s / sum p_k  over the latest tasks, with its standard error

The influence of a single task is mostly noise, that of a kind is not. A kind whose mean is below 0
by two standard errors is dropped: its tasks weigh `1 - p_k`. It is taken back only when its mean is
above 0 by one standard error, so that a kind near the limit does not come and go. All tasks that
are kept weigh the same: weights in proportion to the means would train on few of them.

The window is trained on with the weights that earlier windows decided, and the influences are read
off that same pass: a decision acts from the next window on.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from towpath.control import ActionPrior, Improvement, Status, Trajectory, costate_gradient
from towpath.control.bounds import bounds_of
from towpath.data.trusted import still_trusted
from towpath.objective import Objective
from towpath.validation import at_least, check_whole
from towpath.weighters.card import Card, Point
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import Plan
from towpath.weighters.rules.memory import Memory, RuleMemory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.selection import components_apart, equal, lower_log_posterior
from towpath.weighters.start import ModelLike, OptimizerLike, Start
from towpath.weighters.tow.cost import TargetTasks
from towpath.weighters.tow.nominal import RuleNominal
from towpath.weighters.tow.part import WholeView
from towpath.weighters.tow.planning import plan_window
from towpath.weighters.tow.prior import GivenBeta
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.rollout import Rollout
from towpath.weighters.tow.setting import Setting
from towpath.weighters.window import Window, check_call, checked_targets, checked_window
from towpath.weighters.work import WindowWork

LEAST_TASKS = 10.0
"""tasks of a kind, counted by their posteriors, before its mean influence decides anything"""
LEAST_WEIGHT = 1e-9
"""a mini-batch of dropped tasks alone takes next to no step, in place of one with equal weights"""


@dataclass(frozen=True)
class Kinds:
    """Keeps or drops the tasks of high loss, or of low loss, by their planned influence (ours).

    Tasks with `info["trusted"]` are neither fitted nor dropped, unless a check has left them out
    (`info["left_out"]`). While the two kinds lie less than one standard deviation apart, all tasks
    weigh the same and nothing is remembered of them.

    Args:
        window: how many of the latest task losses the two kinds are fitted to.
        memory: how many of the latest tasks' influences decide on the kinds.
        warmup: mini-batches with equal weights first; their losses are remembered.
        drop: standard errors below 0 at which a kind is dropped.
        restore: standard errors above 0 at which a dropped kind is taken back.
    """

    wants_targets: ClassVar[bool] = True
    wants_judges: ClassVar[bool] = False
    plans_windows: ClassVar[bool] = True
    card: ClassVar[Card] = Card(
        formula="equal, but `1 - p_k` for a kind k (the lower or the higher of two Gaussians "
        "fitted to the last 200 losses) whose mean planned influence is below 0 by two standard "
        "errors, until it is above 0 by one",
        assumes="targets; what is wrong with tasks shows in their losses",
        costs="the targets after every step; 1.5 T M P numbers",
        fails="where right and wrong tasks have the same losses: it is uniform then",
        reference="ours",
        point=Point(
            "the window",
            "the optimiser's, with its moments",
            "kept or dropped, by posterior",
            "pooled over kinds; standard errors, with hysteresis",
        ),
    )

    window: int = 200
    memory: int = 240
    warmup: int = 20
    drop: float = 2.0
    restore: float = 1.0

    def __post_init__(self) -> None:
        for name, low in (("window", 2), ("memory", 2), ("warmup", 0)):
            check_whole("Kinds", name, getattr(self, name), low)
        at_least("Kinds", "drop", self.drop, 0.0)
        at_least("Kinds", "restore", self.restore, 0.0)

    def plan(
        self,
        objective: Objective,
        model: ModelLike,
        optimizer: OptimizerLike,
        window: Window,
        *,
        targets: Window | None = None,
        muted: Muted = NOTHING_MUTED,
        state: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Plan:
        """Train through the window with the kinds that are kept, and judge the kinds by it.

        Args:
            objective, model, optimizer, window, muted, seed: as for `TOW.plan`.
            targets: T lists of trusted tasks, which are required.
            state: `weighter_state` of the plan of the previous window, or None.
        """
        began = time.perf_counter()
        check_call(objective, seed)
        tasks = checked_window(window)
        if targets is None:
            raise ValueError(
                "Kinds found no targets; expected targets=T lists of trusted tasks, which it "
                "judges kinds of task by. Pass targets; in a recipe, set trusted.count."
            )
        goals = checked_targets(targets, len(tasks))
        assert goals is not None
        start = Start.of(model, optimizer)
        cost = TargetTasks(goals)
        setting = Setting(objective, start, WholeView(tasks), cost, muted=muted, seed=seed)
        reading = _Reading()
        plan = plan_window(
            WindowProblem(setting),
            RuleNominal(self._keeping, state),
            bounds_of("project"),
            GivenBeta(math.inf),
            reading,
            began,
        )
        after = RuleMemory.of(plan.weighter_state["nominal"], self.initial_state())
        remembered = self._judged(after.rule, reading.influence, muted)
        return replace(plan, weighter_state=RuleMemory(after.step, remembered).plain())

    def initial_state(self) -> Memory:
        """Return the memory before the first mini-batch, where both kinds are kept."""
        return self._keeping.initial_state()

    @property
    def _keeping(self) -> "_Keeping":
        return _Keeping(self.window, self.warmup)

    def expected_work(self, T: int, targets: float, inertia: float) -> WindowWork:  # noqa: ARG002
        """Return the expected work of a window, which is trained once with the targets after steps.

        Args:
            T: number of mini-batches of the window.
            targets: number of targets of a mini-batch, as a share of M.
            inertia: not used, because no mini-batch is left out.
        """
        return WindowWork(T + T * targets)

    def _judged(self, rule: Memory, influence: Tensor | None, muted: Muted) -> Memory:
        """Return the rule's memory with the window's influences, and the kinds dropped by them."""
        seen: list[list[float]] = [*rule["seen"]]
        if influence is not None:
            seen = [*seen, *_scaled(influence, rule["waiting"], muted)][-self.memory :]
        dropped = list(rule["dropped"])
        for k, kind in enumerate(pooled(seen)):
            if kind is None:
                continue
            mean, error = kind
            limit = self.restore * error if dropped[k] else -self.drop * error
            dropped[k] = mean <= limit if dropped[k] else mean < limit
        return {**rule, "seen": seen, "dropped": dropped, "waiting": []}


def pooled(seen: Sequence[Sequence[float]]) -> list[tuple[float, float] | None]:
    """Return mean influence and standard error of the low and of the high kind.

    Each is None while there are too few tasks of the kind.

    Args:
        seen: for each task its influence and the posterior of the high kind.
    """
    table = np.array(seen, dtype=np.float64).reshape(-1, 2)
    s, high = table[:, 0], table[:, 1]
    found: list[tuple[float, float] | None] = []
    for p in (1.0 - high, high):
        total = float(p.sum())
        if total < LEAST_TASKS:
            found.append(None)
            continue
        mean = float(p @ s) / total
        error = math.sqrt(float(p**2 @ (s - mean) ** 2)) / total
        found.append((mean, error))
    return found


def _scaled(
    influence: Tensor, waiting: Sequence[Sequence[float | None]], muted: Muted
) -> list[list[float]]:
    """Return influence over its standard deviation, and posterior, of each task of a known kind.

    Args:
        influence: `[T, M]`.
        waiting: posteriors of the tasks that were not muted, for each mini-batch that had any.
        muted: tasks that were left out.
    """
    T, M = influence.shape
    rows = [[i for i in range(M) if i not in muted.at(t)] for t in range(T)]
    values = [influence[t, row].tolist() for t, row in enumerate(rows) if row]
    pairs = [
        [s, p]
        for said, kinds in zip(values, waiting, strict=True)
        for s, p in zip(said, kinds, strict=True)
        if p is not None
    ]
    deviation = float(np.std([s for s, _ in pairs])) if pairs else 0.0
    return [[s / deviation, p] for s, p in pairs] if deviation > 0 else []


@dataclass
class _Reading:
    """A solver that keeps the nominal, and reads the influences along it."""

    influence: Tensor | None = field(default=None)
    """`[T, M]`, float64; None where there was no finite trajectory"""

    def improve(
        self,
        problem: WindowProblem,
        nominal: Trajectory[Rollout],
        prior: ActionPrior,  # noqa: ARG002  nothing moves
    ) -> Improvement[Rollout]:
        """Return the nominal trajectory as the improvement.

        Args:
            problem: the window as a control problem.
            nominal: the trajectory, rolled out with derivatives.
            prior: unused, because nothing moves.
        """
        gradient = costate_gradient(problem.model(nominal, last=True)).cpu()
        if not bool(torch.isfinite(gradient).all()):
            return Improvement(nominal, Status.NON_FINITE_DERIVATIVE)
        self.influence = -gradient
        return Improvement(nominal, Status.RULE)


@dataclass(frozen=True)
class _Keeping(MiniBatchWeighter):
    """The rule behind `Kinds`: equal weights for the kinds that are kept."""

    window: int
    warmup: int

    def initial_state(self) -> Memory:
        """Return a state without losses and influences, where both kinds are kept."""
        return {"losses": [], "seen": [], "waiting": [], "dropped": [False, False]}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Weigh each task by the probability that its kind is kept; remember its kind."""
        trusted = np.array([still_trusted(info) for info in batch.infos])
        losses = batch.losses.double().cpu().numpy()
        latest = [*state["losses"], *losses[~trusted].tolist()][-self.window :]
        pair = components_apart(np.array(latest)) if batch.step >= self.warmup else None
        if pair is None:
            unknown = [*state["waiting"], [None] * len(batch)]
            return equal(batch), {**state, "losses": latest, "waiting": unknown}
        low = np.exp(lower_log_posterior(*pair, losses))
        kinds = [None if known else 1.0 - p for p, known in zip(low, trusted, strict=True)]
        remembered = {**state, "losses": latest, "waiting": [*state["waiting"], kinds]}
        if all(state["dropped"]):  # then there is nothing better to train on
            return equal(batch), remembered
        kept = np.ones_like(low)
        for gone, p in zip(state["dropped"], (low, 1.0 - low), strict=True):
            kept = kept - p if gone else kept
        kept = np.where(trusted, 1.0, np.maximum(kept, LEAST_WEIGHT))
        return torch.from_numpy(kept / max(1.0, float(kept.sum()))), remembered
