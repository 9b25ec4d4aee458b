"""TOW: task weights by trajectory optimisation. The only bridge between learning and control.

    x_{t+1} = f(x_t, u_t)                 one optimiser step on u_t . l(x_t)
    J = sum_t sum(l(x_t)) + beta/2 |u_t - mu|^2      the paper's cost, or, with targets,
    J = sum_t sum_{j in targets_t} l_j(x_{t+1}) + beta/2 |u_t - mu|^2

iLQR about a nominal trajectory finds the weights; the accepted trajectory is the training.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from towpath.control import (
    Bounds,
    BoundsKind,
    Convex,
    ExactGradients,
    HalfGradients,
    Search,
    ValueKind,
    bounds_of,
)
from towpath.objective import CurvatureKind, Objective
from towpath.validation import check_choices
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import Plan
from towpath.weighters.protocol import Weighter, wants_targets
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.start import ModelLike, OptimizerLike, Start
from towpath.weighters.tow.actions import ACTIONS, NormaliseKind
from towpath.weighters.tow.checks import check_numbers, check_share, check_together
from towpath.weighters.tow.cost import Cost, OwnTasks, TargetTasks
from towpath.weighters.tow.heading import BetaOnTheWay, Heading
from towpath.weighters.tow.nominal import (
    NOMINALS,
    Nominal,
    PlannedNominal,
    RuleNominal,
    checked_nominal,
    nominal_memory,
    search_memory,
    steps_through,
)
from towpath.weighters.tow.part import HEAVY, FirstView, left_out_of, put_aside, view_of
from towpath.weighters.tow.planning import Iterating, Solver, Staying, plan_window
from towpath.weighters.tow.prior import AutoBeta, GivenBeta, PriorChoice, ScaleKind
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.setting import Modelling, Setting
from towpath.weighters.tow.steering import Steering
from towpath.weighters.tow.work import expected_work
from towpath.weighters.window import Window, check_call, checked_targets, checked_window
from towpath.weighters.work import WindowWork

if TYPE_CHECKING:
    BoundsOption = BoundsKind | Bounds
    NominalOption = str | Weighter
else:
    # recipes read what may be written from these annotations, never a class to import: words, and
    # for the nominal a word or a section of its own, which `towpath.recipes` makes a weighter of
    BoundsOption = BoundsKind
    NominalOption = str | dict[str, Any]

FAITHFUL: Mapping[str, Any] = {
    "bounds": "backtrack",
    "moments": "frozen",
    "value": "diagonal",
    "sufficient_decrease": 0.5,
    "acceptance": "strict",
}
FAST: Mapping[str, Any] = {"iterations": 1, "curvature": "none", "query_share": "auto"}
"""what makes a plan fast, whatever its cost (docs/performance.md: cost against fidelity)"""
TOWARDS_TARGETS: Mapping[str, Any] = {
    "bounds": "simplex",
    "beta": "auto",
    "spread": 2.0,
    "scale": "mini-batch",
    "shrink": "agreement",
    "iterations": 1,
    "curvature": "none",
    "wants_targets": True,
}
CHANCE = 1.0
"""`acceptance="chance"`: standard errors over the tasks that a decrease must be above to be seen"""
AUTO_SHARE, AUTO_SHARE_WITH_TARGETS = 0.45, 0.25
"""`query_share="auto"`: targets are always whole, so the parts matter less for the costate there"""


@dataclass(frozen=True)
class TOW:
    """Plans the weights of a window of T mini-batches of M tasks.

    Args:
        beta: precision of the prior about `mu`; `"auto"` sets it so that the largest planned
            deviation is about `spread / M` (see `spread`, `shrink`).
        mu: mean of the prior; None for the nominal's weights, and 1/M where these are random.
        iterations: iLQR iterations.
        value: "diagonal" (the paper's approximation) or "exact" value function of the feedback
            sweep. `bounds="project"` and `"simplex"` always use the exact, condensed problem.
        adjoint: "model" (diagonal curvature) or "exact" (true Hessian products in the gradient).
        bounds: "project" (w >= 0), "simplex" (and each mini-batch sums to 1), "backtrack" (the
            paper: shrink the whole step until no weight is negative), or an object of a class of
            yours (see `towpath.control.bounds`).
        curvature: "gauss-newton" (sketched with `probes`), "gauss-newton-exact", "hutchinson",
            or "none".
        probes: random vectors of each sketch of the curvature.
        moments: "full" differentiates through the optimiser's moments, "frozen" does not (paper).
        normalise: "none", or "softmax": the actions are logits and the weights sum to 1.
        nominal: start from "uniform" weights or "random" ones (Dirichlet(1)); or plan about the
            weights of any weighter, given as an object or by its registered name: they are then
            also the prior's mean, its memory is kept in `plan.weighter_state`, and it sees the
            targets if it wants them.
        terminal: "none", or "replay": count the last mini-batch's cost after its step too.
        spread: with `beta="auto"`, the largest deviation relative to 1/M.
        scale: with `beta="auto"`, one beta for the "window" (the mini-batches that matter more move
            more), or one for each "mini-batch" (each moves by about the spread).
        shrink: with targets and `beta="auto"`, "agreement" (default) multiplies the spread by the
            cosine of the deviations that two halves of the targets suggest; "none" does not.
        max_trials: step sizes 1, 1/2, 1/4, ... evaluated per iteration.
        tolerance: the weights count as stationary where the largest entry of the projected gradient
            of J (`u - Proj(u - dJ/du)`; without a projection, of q_u) is below this.
        sufficient_decrease: c1 of the acceptance test.
        acceptance: "strict" follows every decrease above rounding. "chance" is cheaper: it knows
            that a trial's difference has a standard error over the tasks. A second iteration whose
            predicted decrease is below it is not begun, a trial that is far beyond it is broken
            off, a decrease may fall short of the promise by it, and the first search of a window
            begins at twice the step size with which that of the window before ended. A second
            iteration needs the curvature along the first trial, which is left out while second
            iterations show nothing and trials come out as predicted; none follows a trial that
            cost too much. Where the promise is far below the error, the first trial that costs
            more ends the search. With either, a plan is never worse than its nominal.
        query_share: share of each query set that costates are computed from; below 1 costs are
            compared on that part (`TOW.fast()`; see `towpath.weighters.tow.part`). Stage 1, which
            training evaluates anyway, is always whole; so are targets. "auto" is 0.45, or 0.25
            with targets: the knees of cost against fidelity (docs/performance.md). Below 1, with
            momentum and a fixed beta, some mini-batches are not evaluated (see `coasting`); with
            targets and a scale for each mini-batch, none but the first (see `heads`).
        wants_targets: whether training passes trusted tasks as `targets` (a plan of your own takes
            them either way).
        cost: None for the window's own tasks, or the targets' where there are any; or an object of
            a class of yours (see `towpath.weighters.tow.cost`), which a recipe cannot name.

    Example:
        >>> import torch, towpath as tp
        >>> def fn(params, task):
        ...     return task[0] @ params["w"], task[1]
        >>> objective = tp.Objective.from_function(fn, loss="mse")
        >>> params = {"w": torch.zeros(2, dtype=torch.float64)}
        >>> def task(i):
        ...     x = torch.eye(2, dtype=torch.float64) * (i + 1)
        ...     return x, torch.ones(2, dtype=torch.float64)
        >>> window = [[task(0), task(1)], [task(2), task(3)]]
        >>> plan = tp.TOW(beta=1.0).plan(objective, params, tp.SGD(lr=0.1).init(params), window)
        >>> plan.weights.shape, bool(plan.cost <= plan.nominal_cost)
        (torch.Size([2, 2]), True)
    """

    beta: float | Literal["auto"] = 10.0
    mu: float | None = None
    iterations: int = 2
    value: ValueKind = "diagonal"
    adjoint: Literal["model", "exact"] = "model"
    bounds: BoundsOption = "project"
    curvature: CurvatureKind = "gauss-newton"
    probes: int = 1
    moments: Literal["full", "frozen"] = "full"
    normalise: NormaliseKind = "none"
    nominal: NominalOption = "uniform"
    terminal: Literal["none", "replay"] = "none"
    spread: float = 0.5
    scale: ScaleKind = "window"
    shrink: Literal["agreement", "none"] | None = None
    max_trials: int = 5
    tolerance: float = 1e-6
    sufficient_decrease: float = 0.1
    acceptance: Literal["strict", "chance"] = "chance"
    query_share: float | Literal["auto"] = 1.0
    wants_targets: bool = False
    cost: Cost | None = None
    wants_judges: ClassVar[bool] = False
    plans_windows: ClassVar[bool] = True
    plans_probes: ClassVar[bool] = True
    """whether the probes of a run show the plans of this weighter itself"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "nominal", checked_nominal(self.nominal))
        own_bounds = isinstance(self.bounds, Bounds)
        check_choices("TOW", self, besides=("bounds",) if own_bounds else ())
        check_numbers(self)
        check_share(self)
        check_together(self)

    @classmethod
    def faithful(cls, **overrides: Any) -> "TOW":
        """Return the paper's method: feedback sweep, frozen moments, backtracking, c1 = 0.5."""
        return cls(**{**FAITHFUL, **overrides})

    @classmethod
    def fast(cls, **overrides: Any) -> "TOW":
        """Return a preset whose planning costs little more than training.

        The costate is computed from a part of each query set, without curvature; the weights from
        the gradients of the training itself, which is the only trial. Costs are compared on that
        part, up to chance (docs/performance.md has cost against fidelity).
        """
        return cls(**{**FAST, **overrides})

    @property
    def on_a_part(self) -> bool:
        """Whether the costates come from a part of the query sets."""
        return self.query_share != 1

    def share(self, targets: bool) -> float:
        """Return the share of each query set that is planned on."""
        if self.query_share == "auto":
            return AUTO_SHARE_WITH_TARGETS if targets else AUTO_SHARE
        return self.query_share

    def heads(self, inertia: float, targets: bool) -> bool:
        """Return whether nothing but the targets is evaluated before training.

        It takes momentum, and a beta for each mini-batch, which its own gradients give.
        """
        own = self.beta == "auto" and self.scale == "mini-batch" and self.moments == "full"
        return self.on_a_part and targets and own and inertia >= HEAVY

    def coasting(self, T: int, inertia: float, targets: bool) -> int:
        """Return how many mini-batches after the first a plan on a part does not evaluate.

        It is 0 with frozen moments, or where beta follows from all gradients; with targets it is 0
        or, where the plan `heads`, all of them.
        """
        if self.heads(inertia, targets):
            return T - 1
        if not self.on_a_part or targets or self.beta == "auto" or self.moments == "frozen":
            return 0
        return left_out_of(T, inertia)

    def expected_work(self, T: int, targets: float, inertia: float) -> WindowWork:
        """Return the expected work of a window (see `towpath.weighters.work.window_work`)."""
        return expected_work(self, T, targets, inertia)

    @classmethod
    def towards_targets(cls, **overrides: Any) -> "TOW":
        """Return the preset `tow-targets`: scale-free, on the simplex, shrunk by agreement.

        It takes one iteration without curvature: measured with targets, both change the weights
        little and cost as much as the rest of the plan (docs/decisions.md).
        """
        return cls(**{**TOWARDS_TARGETS, **overrides})

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
        """Return the weights of the window's tasks and the state that training with them leads to.

        Args:
            objective: evaluates the tasks' losses and gradients.
            model: an `nn.Module`, or a dict of parameters.
            optimizer: its `torch.optim` object, or a state from `tp.Adam(lr=...).init(params)`.
            window: T lists of M tasks.
            targets: T lists of trusted tasks; the cost is then theirs, after each step.
            muted: tasks to leave out because their loss or gradient is not finite.
            state: `weighter_state` of the plan of the previous window, or None; a plan remembers
                the memory of the weighter that is its nominal and, with `acceptance="chance"`,
                how its line search ended.
            seed: the seed of all randomness of the plan.
        """
        began = time.perf_counter()
        check_call(objective, seed)
        tasks = checked_window(window)
        goals = checked_targets(targets, len(tasks))
        self.check_targets(goals is not None)
        self._check_count(goals)
        start = Start.of(model, optimizer)
        # before its first step an optimiser has no momentum to coast on
        inertia = start.optimizer.inertia if min(start.state.steps) > 0 else 0.0
        given = goals is not None
        heads = self.heads(inertia, given)
        share, coasting = self.share(given), self.coasting(len(tasks), inertia, given)
        setting = Setting(
            objective,
            start,
            FirstView(tasks) if heads else view_of(objective, tasks, share, coasting),
            self._cost(goals),
            self._modelling(),
            muted,
            seed,
            put_aside(start.layout, start.optimizer) if self.on_a_part else frozenset(),
        )
        bounds = bounds_of(self.bounds)
        nominal = self._nominal(model, optimizer, goals, state)
        choice, solver = self._prior_choice(given), self._solver(bounds, state)
        if heads and self.iterations > 0:
            assert isinstance(bounds, Convex)
            choice = BetaOnTheWay(self.mu, self.spread, self.scale, self.shrink != "none")
            solver = Heading(bounds, choice)
        return plan_window(WindowProblem(setting), nominal, bounds, choice, solver, began)

    def _nominal(
        self,
        model: ModelLike,
        optimizer: OptimizerLike,
        targets: list[list[Any]] | None,
        state: Mapping[str, Any] | None,
    ) -> Nominal:
        """Return what makes the trajectory that the plan starts from."""
        chosen = self.nominal
        if isinstance(chosen, str):
            return NOMINALS[chosen]
        memory = nominal_memory(state)
        if isinstance(chosen, MiniBatchWeighter) and steps_through(chosen):
            return RuleNominal(chosen, memory, targets)
        return PlannedNominal(chosen, model, optimizer, memory, targets)

    def _cost(self, targets: Window | None) -> Cost:
        """Return the losses that the plan minimises."""
        if self.cost is not None:
            return self.cost
        return OwnTasks(self.terminal == "replay") if targets is None else TargetTasks(targets)

    def _modelling(self) -> Modelling:
        """Return how a trajectory is modelled."""
        return Modelling(
            self.curvature,
            self.probes,
            exact_adjoint=self.adjoint == "exact",
            frozen_moments=self.moments == "frozen",
            actions=ACTIONS[self.normalise],
            stored=HalfGradients.of if bounds_of(self.bounds).feeds_back else ExactGradients,
        )

    def _prior_choice(self, targets: bool) -> PriorChoice:
        """Return how the prior is chosen."""
        if self.beta == "auto":
            shrinks = targets and self.shrink != "none"
            return AutoBeta(self.mu, self.spread, self.scale, shrinks)
        return GivenBeta(float(self.beta), self.mu)

    def _solver(self, bounds: Bounds, state: Mapping[str, Any] | None) -> Solver:
        """Return the solver that improves on the nominal, from the state of the last window on."""
        if self.iterations == 0:
            return Staying()
        if self.on_a_part:
            assert isinstance(bounds, Convex)
            return Steering(bounds, self.tolerance)
        search = Search(self.max_trials, self.sufficient_decrease)
        if self.acceptance == "chance":
            search = replace(search, chance=CHANCE, outlook=search_memory(state))
        return Iterating(bounds, self.value, self.iterations, self.tolerance, search)

    def check_targets(self, given: bool) -> None:
        """Raise a ValueError if an option does not go with targets, or not without them."""
        if not given:
            if not isinstance(self.nominal, str) and wants_targets(self.nominal):
                raise ValueError(
                    f"TOW(nominal={type(self.nominal).__name__}(...)) found no targets; expected "
                    "targets=T lists of trusted tasks, which the nominal weighs tasks by. Pass "
                    "targets; in a recipe, start from tow-targets, or set wants_targets: true."
                )
            if self.shrink == "agreement":
                raise ValueError(
                    "TOW(shrink='agreement') found no targets; expected targets=T lists of trusted "
                    "tasks whose halves can agree. Pass targets or use shrink='none'."
                )
            return
        if self.cost is not None:
            raise ValueError(
                f"TOW(cost={type(self.cost).__name__}(...)) found targets; a cost of your own says "
                "itself which tasks count. Give it the targets, and plan without them."
            )
        if self.terminal == "replay":
            raise ValueError(
                "TOW(terminal='replay') found targets; the targets' cost already counts the state "
                "after the last step. Use terminal='none' with targets."
            )

    def _check_count(self, targets: list[list[Any]] | None) -> None:
        if targets is None:
            return
        if self.beta == "auto" and self.shrink != "none" and sum(map(len, targets)) < 2:
            raise ValueError(
                "TOW(beta='auto') found one target task in all; agreement needs two halves, so at "
                "least two. Pass more targets or use shrink='none'."
            )
