"""TOW: task weights by trajectory optimisation. The only bridge between learning and control.

    x_{t+1} = f(x_t, u_t)                 one optimiser step on u_t . l(x_t)
    J = sum_t sum(l(x_t)) + beta/2 |u_t - mu|^2      the paper's cost, or, with targets,
    J = sum_t sum_{j in targets_t} l_j(x_{t+1}) + beta/2 |u_t - mu|^2

iLQR about a nominal trajectory finds the weights; the accepted trajectory is the training.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from towpath.control import (
    BoundsKind,
    Model,
    Prior,
    Search,
    Status,
    Trajectory,
    ValueKind,
    costate_gradient,
    ilqr,
)
from towpath.objective import CurvatureKind, Objective
from towpath.validation import at_least, check_choices
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import Plan
from towpath.weighters.start import (
    ModelLike,
    OptimizerLike,
    Start,
    Window,
    check_call,
    checked_targets,
    checked_window,
)
from towpath.weighters.tow.deviations import centred, cosine
from towpath.weighters.tow.outcome import Outcome, plan_of, trained
from towpath.weighters.tow.part import left_out_of, steer
from towpath.weighters.tow.problem import WindowProblem, stage_seed

FAST: dict[str, Any] = {"iterations": 1, "curvature": "none", "query_share": "auto"}
"""what makes a plan fast, whatever its cost (docs/performance.md: cost against fidelity)"""
AUTO_SHARE, AUTO_SHARE_WITH_TARGETS = 0.45, 0.25
"""`query_share="auto"`: targets are always whole, so the parts say less of the costate there"""
ON_A_PART: dict[str, tuple[Any, ...]] = {
    "iterations": (0, 1),
    "curvature": ("none",),
    "bounds": ("project", "simplex"),
    "adjoint": ("model",),
    "nominal": ("uniform",),
}
"""options of a plan on a part of the query sets: it has one trial, and no quadratic term"""


@dataclass(frozen=True)
class TOW:
    """Plans the weights of a window of T mini-batches of M tasks.

    Args:
        beta: precision of the prior about `mu`; `"auto"` sets it so that the largest planned
            deviation is about `spread / M` (see `spread`, `shrink`).
        mu: mean of the prior; None for 1/M.
        iterations: iLQR iterations.
        value: "diagonal" (the paper's approximation) or "exact" value function of the feedback
            sweep. `bounds="project"` and `"simplex"` always use the exact, condensed problem.
        adjoint: "model" (diagonal curvature) or "exact" (true Hessian products in the gradient).
        bounds: "project" (w >= 0), "simplex" (and each mini-batch sums to 1), or "backtrack" (the
            paper: shrink the whole step until no weight is negative).
        curvature: "gauss-newton" (sketched with `probes`), "gauss-newton-exact", "hutchinson",
            or "none".
        moments: "full" differentiates through the optimiser's moments, "frozen" does not (paper).
        normalise: "none", or "softmax": the actions are logits and the weights sum to 1.
        nominal: start from "uniform" weights or "random" ones (Dirichlet(1)).
        terminal: "none", or "replay": count the last mini-batch's cost after its step too.
        spread: with `beta="auto"`, the largest deviation relative to 1/M.
        scale: with `beta="auto"`, one beta for the "window" (the mini-batches that matter more move
            more), or one for each "mini-batch" (each moves by about the spread).
        shrink: with targets and `beta="auto"`, "agreement" (default) multiplies the spread by the
            cosine of what two halves of the targets ask for; "none" does not.
        max_trials: step sizes 1, 1/2, 1/4, ... evaluated per iteration.
        tolerance: the weights count as stationary where the largest entry of the projected gradient
            of J (`u - Proj(u - dJ/du)`; without a projection, of q_u) is below this.
        sufficient_decrease: c1 of the acceptance test.
        query_share: share of each query set that costates are computed from; below 1 costs are
            compared on that part (`TOW.fast()`; see `towpath.weighters.tow.part`). Stage 1, which
            training evaluates anyway, is always whole; so are targets. "auto" is 0.45, or 0.25
            with targets: the knees of cost against fidelity (docs/performance.md). Below 1, with
            momentum and a fixed beta, some mini-batches are not looked at (see `coasting`).
        wants_targets: whether training passes trusted tasks as `targets` (a plan of your own takes
            them either way).

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
    bounds: BoundsKind = "project"
    curvature: CurvatureKind = "gauss-newton"
    probes: int = 1
    moments: Literal["full", "frozen"] = "full"
    normalise: Literal["none", "softmax"] = "none"
    nominal: Literal["uniform", "random"] = "uniform"
    terminal: Literal["none", "replay"] = "none"
    spread: float = 0.5
    scale: Literal["window", "mini-batch"] = "window"
    shrink: Literal["agreement", "none"] | None = None
    max_trials: int = 5
    tolerance: float = 1e-6
    sufficient_decrease: float = 0.1
    query_share: float | Literal["auto"] = 1.0
    wants_targets: bool = False

    def __post_init__(self) -> None:
        check_choices("TOW", self)
        if self.beta != "auto":
            at_least("TOW", "beta", self.beta, 0.0)
            if self.beta == 0:
                raise ValueError(
                    "TOW found beta=0; expected beta > 0 (the prior keeps the problem bounded) "
                    "or beta='auto'."
                )
        if self.mu is not None:
            at_least("TOW", "mu", self.mu, 0.0)
        at_least("TOW", "spread", self.spread, 0.0)
        if self.spread == 0:
            raise ValueError(
                "TOW found spread=0; expected spread > 0 (0 would keep the weights uniform). Train "
                "with uniform weights instead."
            )
        at_least("TOW", "tolerance", self.tolerance, 0.0)
        for name, low in (("iterations", 0), ("probes", 1), ("max_trials", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise ValueError(
                    f"TOW found {name}={value!r}; expected a whole number of at least {low}."
                )
        at_least("TOW", "sufficient_decrease", self.sufficient_decrease, 0.0)
        if not 0 < self.sufficient_decrease < 1:
            raise ValueError(
                f"TOW found sufficient_decrease={self.sufficient_decrease}; expected between 0 "
                "and 1 (the paper: 0.5)."
            )
        self._check_share()
        if self.shrink == "agreement" and self.beta != "auto":
            raise ValueError(
                f"TOW found shrink='agreement' with beta={self.beta}; agreement scales the spread, "
                "which only beta='auto' uses. Set beta='auto' or drop shrink."
            )
        if self.scale == "mini-batch" and self.beta != "auto":
            raise ValueError(
                f"TOW found scale='mini-batch' with beta={self.beta}; only beta='auto' is scaled. "
                "Set beta='auto' or drop scale."
            )
        if self.probes > 1 and self.curvature in ("none", "gauss-newton-exact"):
            raise ValueError(
                f"TOW found probes={self.probes} with curvature={self.curvature!r}, which draws no "
                "probe; expected 'gauss-newton' or 'hutchinson'. Choose one of them or drop probes."
            )
        if (self.normalise == "softmax") != (self.bounds == "none"):
            raise ValueError(
                f"TOW found normalise={self.normalise!r} with bounds={self.bounds!r}; expected "
                "bounds='none' with 'softmax' (its weights are positive by themselves) and only "
                "there."
            )

    def _check_share(self) -> None:
        if self.query_share != "auto":
            at_least("TOW", "query_share", self.query_share, 0.0)
            if not 0 < self.query_share <= 1:
                raise ValueError(
                    f"TOW found query_share={self.query_share}; expected more than 0 and at most 1 "
                    "(1: plan on whole query sets), or 'auto'."
                )
        if not self.on_a_part:
            return
        for name, allowed in ON_A_PART.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"TOW found {name}={getattr(self, name)!r} with query_share="
                    f"{self.query_share!r}; a plan on a part of the query sets takes "
                    f"{' or '.join(map(repr, allowed))} there. Start from tp.TOW.fast(), or plan "
                    "with query_share=1."
                )

    @classmethod
    def faithful(cls, **overrides: Any) -> "TOW":
        """The paper's text: feedback sweep, frozen moments, u >= 0 by backtracking, c1 = 0.5."""
        options: dict[str, Any] = {
            "bounds": "backtrack",
            "moments": "frozen",
            "value": "diagonal",
            "sufficient_decrease": 0.5,
        }
        return cls(**{**options, **overrides})

    @classmethod
    def fast(cls, **overrides: Any) -> "TOW":
        """Planning that costs little more than training.

        The costate comes from a part of each query set, without curvature; the weights from the
        gradients of the training itself, which is the only trial. Costs are compared on that
        part, up to chance (docs/performance.md has cost against fidelity).
        """
        return cls(**{**FAST, **overrides})

    @property
    def on_a_part(self) -> bool:
        """Whether the costates come from a part of the query sets."""
        return self.query_share != 1

    def share(self, targets: bool) -> float:
        """The part of each query set that is planned on."""
        if self.query_share == "auto":
            return AUTO_SHARE_WITH_TARGETS if targets else AUTO_SHARE
        return self.query_share

    def coasting(self, T: int, inertia: float, targets: bool) -> int:
        """How many of the mini-batches after the first a plan on a part does not look at.

        With targets, or where beta follows from every mini-batch's gradients, all are wanted.
        """
        if not self.on_a_part or targets or self.beta == "auto" or self.moments == "frozen":
            return 0
        return left_out_of(T, inertia)

    @classmethod
    def towards_targets(cls, **overrides: Any) -> "TOW":
        """The preset `tow-targets`: scale-free on the simplex, shrunk where targets disagree.

        One iteration without curvature: measured with targets, both change the weights little
        and cost as much as the rest of the plan (docs/decisions.md).
        """
        options: dict[str, Any] = {
            "bounds": "simplex",
            "beta": "auto",
            "spread": 2.0,
            "scale": "mini-batch",
            "shrink": "agreement",
            "iterations": 1,
            "curvature": "none",
            "wants_targets": True,
        }
        return cls(**{**options, **overrides})

    def plan(
        self,
        objective: Objective,
        model: ModelLike,
        optimizer: OptimizerLike,
        window: Window,
        *,
        targets: Window | None = None,
        muted: Muted = NOTHING_MUTED,
        state: Mapping[str, Any] | None = None,  # noqa: ARG002  TOW remembers nothing
        seed: int = 0,
    ) -> Plan:
        """Weights of the window's tasks and the state that training with them leads to.

        Args:
            objective: losses of the tasks.
            model: an `nn.Module`, or a dict of parameters.
            optimizer: its `torch.optim` object, or a state from `tp.Adam(lr=...).init(params)`.
            window: T lists of M tasks.
            targets: T lists of trusted tasks; the cost is then theirs, after each step.
            muted: tasks to leave out because their numbers are not finite.
            state: what the weighter remembered from the window before; TOW remembers nothing.
            seed: all randomness of the plan.
        """
        began = time.perf_counter()
        check_call(objective, seed)
        tasks = checked_window(window)
        goals = checked_targets(targets, len(tasks))
        self.check_targets(goals is not None)
        self._check_count(goals)
        start = Start.of(model, optimizer)
        share = self.share(goals is not None)
        # before its first step an optimiser has nothing to coast on
        inertia = start.optimizer.inertia if min(start.state.steps) > 0 else 0.0
        problem = WindowProblem(
            objective,
            start,
            tasks,
            goals,
            curvature=self.curvature,
            probes=self.probes,
            exact_adjoint=self.adjoint == "exact",
            frozen_moments=self.moments == "frozen",
            replay=self.terminal == "replay",
            softmax=self.normalise == "softmax",
            muted=muted,
            share=share,
            coasting=self.coasting(len(tasks), inertia, goals is not None),
            seed=seed,
        )
        u0 = self._nominal_actions(len(tasks), len(tasks[0]), seed)
        if self.bounds == "simplex" and problem.held is not None:
            u0 = u0.masked_fill(problem.held, 0.0)
            u0 = u0 / u0.sum(1, keepdim=True)
        nominal = problem.rollout(
            lambda t, z: u0[t],  # noqa: ARG005
            derivatives=self.iterations > 0,
        )
        outcome = trained(problem, self._solve(problem, nominal, len(tasks[0])))
        first = u0
        if problem.softmax:
            first = torch.stack([problem.softmaxed(row, t) for t, row in enumerate(u0)])
        return plan_of(problem, first, nominal, outcome, muted, share, began)

    def _solve(self, problem: WindowProblem, nominal: Trajectory, M: int) -> "Outcome":
        mu = 1.0 / M if self.mu is None else self.mu
        fixed = None if self.beta == "auto" else Prior(float(self.beta), mu)
        if not nominal.finite:
            return Outcome(nominal, Status.NON_FINITE_NOMINAL, fixed or Prior(math.inf, mu))
        if self.iterations == 0:
            return Outcome(nominal, Status.ITERATION_LIMIT, fixed or Prior(math.inf, mu))
        agreement, g0 = self._first_order(problem, nominal)
        prior = fixed
        if g0 is not None:
            scale = self.spread * (max(0.0, agreement or 0.0) if self._shrinks(problem) else 1.0)
            largest = float(g0.abs().max())
            if not math.isfinite(largest):
                return Outcome(nominal, Status.NON_FINITE_DERIVATIVE, Prior(math.inf, mu))
            if scale == 0.0 or largest == 0.0:
                status = Status.CONVERGED if largest == 0.0 else Status.NO_AGREEMENT
                return Outcome(nominal, status, Prior(math.inf, mu), agreement=agreement)
            prior = Prior(M * largest / scale, mu, self._scales(g0, largest))
        assert prior is not None
        if self.on_a_part:
            steered = steer(
                problem,
                nominal,
                prior,
                bounds=self.bounds,
                tolerance=self.tolerance,
            )
            return Outcome(
                steered.trajectory,
                steered.status,
                prior,
                history=steered.history,
                agreement=agreement,
                nominal=steered.nominal,
            )
        result = ilqr(
            problem,
            nominal,
            prior,
            bounds=self.bounds,
            value=self.value,
            iterations=self.iterations,
            tolerance=self.tolerance,
            search=Search(self.max_trials, self.sufficient_decrease),
        )
        return Outcome(
            result.trajectory,
            result.status,
            prior,
            history=tuple(result.history),
            agreement=agreement,
            curvature_ratio=result.curvature_ratio,
        )

    def _first_order(
        self, problem: WindowProblem, nominal: Trajectory
    ) -> tuple[float | None, Tensor | None]:
        """Agreement of the targets, if any, and g0 `[T, M]`, if beta follows from it.

        The solver builds the nominal's model again: that costs no evaluation, and a model that
        lives here only is not held through the trials.
        """
        halves = problem.targets is not None and sum(map(len, problem.targets)) > 1
        if not halves and self.beta != "auto":
            return None, None
        model = problem.model(nominal)
        agreement = _agreement(problem, nominal, model) if halves else None
        if self.beta != "auto":
            return agreement, None
        g0 = costate_gradient(model)
        return agreement, centred(g0, problem.held) if self.bounds == "simplex" else g0

    def _scales(self, g0: Tensor, largest: float) -> tuple[float, ...] | None:
        """beta of each mini-batch over the window's; one that asks for nothing stays put."""
        if self.scale == "window":
            return None
        each = g0.abs().amax(1) / largest
        # at most a thousandfold: a mini-batch without influence must not move on rounding
        return tuple(float(s) for s in each.clamp_min(1e-3))

    def _shrinks(self, problem: WindowProblem) -> bool:
        return problem.targets is not None and self.shrink != "none"

    def check_targets(self, given: bool) -> None:
        """ValueError if an option does not go with targets, or not without."""
        if not given:
            if self.shrink == "agreement":
                raise ValueError(
                    "TOW(shrink='agreement') found no targets; expected targets=T lists of trusted "
                    "tasks whose halves can agree. Pass targets or use shrink='none'."
                )
            return
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

    def _nominal_actions(self, T: int, M: int, seed: int) -> Tensor:
        if self.nominal == "uniform":
            return torch.full((T, M), 1.0 / M, dtype=torch.float64, device="cpu")
        generator = torch.Generator().manual_seed(stage_seed(seed, T + 1))
        draws = torch.empty(T, M, dtype=torch.float64, device="cpu")
        draws.exponential_(generator=generator)
        return draws / draws.sum(1, keepdim=True)  # Dirichlet(1)


def _agreement(problem: WindowProblem, nominal: Trajectory, model: Model) -> float:
    """Cosine of the deviations, centred per mini-batch, that each half of the targets asks for.

    To first order the deviations are the negative costate gradients, so this needs no evaluation;
    the halves use the model's adjoint also where the plan uses the exact one.
    """
    first, second = problem.half_models(nominal, model)
    asked = (centred(costate_gradient(half), problem.held) for half in (first, second))
    return cosine(*asked)
