"""The nominal of a plan: the weights that planning starts from, and the mean of its prior.

    uniform        1/M for every task; the prior's mean, too
    random         one draw of Dirichlet(1) for each mini-batch; the prior's mean is 1/M (the paper)
    any weighter   its weights along the trajectory that they lead to; the prior's mean, too

A rule (`MiniBatchWeighter`) is shown each mini-batch as the nominal rollout evaluates it, so that
it costs nothing but what it asks for itself. A weighter that looks at a whole window at once makes
its own plan first, and the nominal is a second pass with its weights. Whatever the plan makes of
them, the weighter's memory afterwards is as after the nominal.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import torch
from torch import Tensor

from towpath.control import Bounds, Outlook, Trajectory
from towpath.dynamics import State
from towpath.objective import Evaluation
from towpath.weighters.protocol import Weighter, wants_judges, wants_targets
from towpath.weighters.rules.memory import Memory, RuleMemory
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.seen import Seen
from towpath.weighters.rules.site import Site
from towpath.weighters.rules.uniform import Uniform
from towpath.weighters.seeds import stage_seed
from towpath.weighters.start import ModelLike, OptimizerLike
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.rollout import Rollout
from towpath.weighters.window import Window
from towpath.wording import nearest, quoted


@dataclass(frozen=True)
class ExtraWork:
    """Work for the nominal beyond its own rollout, in mini-batches of M tasks."""

    evaluations: float = 0.0
    sketches: float = 0.0
    products: float = 0.0


@dataclass(frozen=True, eq=False)
class RolledNominal:
    """The nominal trajectory, and what belongs to it."""

    trajectory: Trajectory[Rollout]
    actions: Tensor
    """`[T, M]`, float64, of all mini-batches, those included that a broken rollout did not reach"""
    mean: float | Tensor
    """the prior's mean: one number, or `[T, M]`"""
    memory: Memory = field(default_factory=dict)
    """the weighter's state after the window; empty for a nominal without one"""
    work: ExtraWork = field(default_factory=ExtraWork)


class Nominal(ABC):
    """Makes the trajectory that a plan starts from; the plan ends with one that is no worse."""

    @abstractmethod
    def rolled(self, problem: WindowProblem, bounds: Bounds, *, derivatives: bool) -> RolledNominal:
        """Train through the window with the nominal weights.

        Args:
            problem: the window as a control problem.
            bounds: the feasible weights, among which the nominal ones are.
            derivatives: whether the trajectory will be modelled.
        """


@dataclass(frozen=True, eq=False)
class GivenNominal(Nominal):
    """Weights that are known beforehand and feasible; they are the prior's mean, too."""

    actions: Tensor
    """`[T, M]`, float64"""

    def rolled(
        self,
        problem: WindowProblem,
        bounds: Bounds,  # noqa: ARG002  they are feasible
        *,
        derivatives: bool,
    ) -> RolledNominal:
        """Train through the window with the given weights.

        Args:
            problem: the window as a control problem.
            bounds: unused, because the weights are feasible.
            derivatives: whether the trajectory will be modelled.
        """
        trajectory = _followed(problem, self.actions, derivatives=derivatives)
        return RolledNominal(trajectory, self.actions, self.actions)


@dataclass(frozen=True)
class UniformNominal(Nominal):
    """A start where all tasks of a mini-batch weigh the same."""

    def actions(self, T: int, M: int, seed: int) -> Tensor:  # noqa: ARG002
        """Return weights `[T, M]` that are 1/M everywhere."""
        return torch.full((T, M), 1.0 / M, dtype=torch.float64, device="cpu")

    def rolled(self, problem: WindowProblem, bounds: Bounds, *, derivatives: bool) -> RolledNominal:
        """Train through the window with weights that depend on the plan's seed at most.

        Args:
            problem: the window as a control problem.
            bounds: the feasible weights.
            derivatives: whether the trajectory will be modelled.
        """
        setting = problem.setting
        T, M = setting.shape
        actions = bounds.feasible_start(self.actions(T, M, setting.seed), setting.held)
        # on the simplex, muted tasks have the mean 0 and the others share what is left
        equal = UniformNominal().actions(T, M, setting.seed)
        mean = 1.0 / M if setting.held is None else bounds.feasible_start(equal, setting.held)
        return RolledNominal(_followed(problem, actions, derivatives=derivatives), actions, mean)


@dataclass(frozen=True)
class RandomNominal(UniformNominal):
    """A start where each mini-batch has its own random weights from Dirichlet(1)."""

    def actions(self, T: int, M: int, seed: int) -> Tensor:
        """Draw weights `[T, M]` that depend on the plan's seed only."""
        generator = torch.Generator().manual_seed(stage_seed(seed, T + 1))
        draws = torch.empty(T, M, dtype=torch.float64, device="cpu")
        draws.exponential_(generator=generator)
        return draws / draws.sum(1, keepdim=True)  # Dirichlet(1)


@dataclass(frozen=True, eq=False)
class RuleNominal(Nominal):
    """The weights of a rule, which decides as the rollout reaches each mini-batch."""

    rule: MiniBatchWeighter
    state: Mapping[str, Any] | None = None
    """the rule's state after the window before"""
    targets: Sequence[Sequence[Any]] | None = None
    """T lists of trusted tasks, for a rule that wants them"""

    def rolled(self, problem: WindowProblem, bounds: Bounds, *, derivatives: bool) -> RolledNominal:
        """Train through the window with the rule's weights, made feasible.

        Args:
            problem: the window as a control problem.
            bounds: the feasible weights.
            derivatives: whether the trajectory will be modelled.
        """
        wanted = self.rule.wants_targets
        self.rule.check_targets(wanted and self.targets is not None)
        T, M = problem.setting.shape
        rows = UniformNominal().actions(T, M, 0)
        steps = _RuleSteps(self, problem, bounds, rows)
        trajectory = problem.rollout(
            lambda t, z: rows[t],  # noqa: ARG005
            derivatives=derivatives,
            decide=steps.decide,
        )
        work = ExtraWork(steps.work / M)
        return RolledNominal(trajectory, rows, rows, steps.memory.plain(), work)


class _RuleSteps:
    """A rule on its way through the window: it fills the rows of weights one by one."""

    def __init__(
        self, nominal: RuleNominal, problem: WindowProblem, bounds: Bounds, rows: Tensor
    ) -> None:
        self.nominal, self.setting, self.bounds, self.rows = nominal, problem.setting, bounds, rows
        self.memory = RuleMemory.of(nominal.state, nominal.rule.initial_state())
        self.work = 0.0
        """evaluations of single tasks that the rule asked for"""

    def decide(self, t: int, state: State, here: Evaluation) -> Tensor:
        """Return the rule's weights `[M]` of mini-batch t, float64."""
        setting, rule = self.setting, self.nominal.rule
        site = Site(setting.objective, setting.start, setting.seeds[t], t)
        goals = self.nominal.targets[t] if rule.wants_targets and self.nominal.targets else None
        skipped, skipped_goals = setting.muted.at(t), setting.muted.targets_at(t)
        tasks = setting.view.window[t]
        seen = Seen(site, state, here, tasks, goals, skipped, skipped_goals)
        try:
            w, self.memory = rule.decide(seen, self.memory)
        finally:
            self.work += site.work
        held = setting.held_at(t)
        row = or_equal(w.double().cpu()[None], None if held is None else held[None])
        row = self.bounds.feasible_start(row, None if held is None else held[None])
        self.rows[t] = row[0]
        return self.rows[t]


@dataclass(frozen=True, eq=False)
class PlannedNominal(Nominal):
    """The weights of a weighter that plans whole windows: its plan first, then a pass with them."""

    weighter: Weighter
    model: ModelLike
    optimizer: OptimizerLike
    state: Mapping[str, Any] | None = None
    """the weighter's state after the window before"""
    targets: Window | None = None
    """T lists of trusted tasks, for a weighter that wants them"""

    def rolled(self, problem: WindowProblem, bounds: Bounds, *, derivatives: bool) -> RolledNominal:
        """Train through the window with the weighter's weights, made feasible.

        Args:
            problem: the window as a control problem.
            bounds: the feasible weights.
            derivatives: whether the trajectory will be modelled.
        """
        setting = problem.setting
        T, M = setting.shape
        plan = self.weighter.plan(
            setting.objective,
            self.model,
            self.optimizer,
            setting.view.window,
            targets=self.targets if wants_targets(self.weighter) else None,
            muted=setting.muted,
            state=self.state,
            seed=setting.seed,
        )
        usable = plan.status.usable
        rows = UniformNominal().actions(T, M, setting.seed)
        if usable:
            rows = or_equal(plan.weights.double().cpu(), setting.held)
        rows = bounds.feasible_start(rows, setting.held)
        trajectory = _followed(problem, rows, derivatives=derivatives)
        if not usable:  # without the weighter's weights there is nothing to plan about
            kept = replace(trajectory.kept, bad=trajectory.kept.bad | plan.bad)
            trajectory = replace(trajectory, finite=False, kept=kept)
        whole = plan.evaluations + plan.query_share * plan.part_evaluations
        work = ExtraWork(whole, plan.sketches, plan.products)
        return RolledNominal(trajectory, rows, rows, plan.weighter_state, work)


NOMINALS: dict[str, Nominal] = {"uniform": UniformNominal(), "random": RandomNominal()}
"""The nominals by the word that a recipe and `TOW(nominal=...)` give them."""


def or_equal(rows: Tensor, held: Tensor | None) -> Tensor:
    """Replace rows of weights that are all 0 by equal weights of the tasks that have an effect."""
    free = torch.ones_like(rows) if held is None else (~held).to(rows)
    nothing = (rows == 0).all(1, keepdim=True)
    return torch.where(nothing, free / free.sum(1, keepdim=True), rows)


def checked_nominal(choice: object) -> str | Weighter:
    """Return a word of `NOMINALS` or a weighter; raise a ValueError for anything else.

    A registered name becomes the weighter with its default options, and equal weights become the
    word for them, so that a plan about them costs nothing and remembers nothing.
    """
    if isinstance(choice, str) and choice not in NOMINALS:
        from towpath.weighters.registry import WEIGHTERS  # here: the registry has TOW itself

        if choice not in WEIGHTERS:
            names = [*NOMINALS, *(name for name in WEIGHTERS if name not in NOMINALS)]
            raise ValueError(
                f"TOW found nominal={choice!r}; expected one of {', '.join(names)}, or an object "
                f"with a method plan.{nearest(choice, names)}"
            )
        entry = WEIGHTERS[choice]
        choice = entry.make(**entry.presets)
    if isinstance(choice, Uniform):
        return "uniform"
    if not isinstance(choice, str) and not callable(getattr(choice, "plan", None)):
        raise ValueError(
            f"TOW found nominal={quoted(choice)}; expected 'uniform', 'random', the name of a "
            "weighter, or an object with a method plan. Derive your class from "
            "towpath.MiniBatchWeighter."
        )
    if not isinstance(choice, str) and wants_judges(cast("Weighter", choice)):
        raise ValueError(
            f"TOW found nominal={type(choice).__name__}(...), which judges; expected a weighter "
            "that does not. Put the plan among its rules instead."
        )
    return cast("str | Weighter", choice)


def nominal_memory(state: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the nominal's part of the state after the previous window, if there was one."""
    own = set(state or {}) - {"search"}
    if not state or not own:  # a nominal may have nothing to remember where the search has
        return None
    if own != {"nominal"}:
        raise ValueError(
            f"The state of TOW has the entries {sorted(state)}; expected 'nominal', as in "
            "plan.weighter_state of the window before. Pass that, or None to begin anew."
        )
    found: Mapping[str, Any] = state["nominal"]
    return found


def search_memory(state: Mapping[str, Any] | None) -> Outlook:
    """Return what the previous window says about the search of this one."""
    found = (state or {}).get("search", {})
    eps, further = found.get("eps", 1.0), found.get("further", True)
    if not 0.0 < eps <= 1.0:
        raise ValueError(
            f"The state of TOW has the step size {eps!r}; expected more than 0 and at most 1, as "
            "in plan.weighter_state of the window before. Pass that, or None to begin anew."
        )
    return Outlook(float(eps), bool(further))


def steps_through(weighter: Weighter) -> bool:
    """Return whether a weighter is a rule that decides one mini-batch after the other."""
    own = getattr(type(weighter), "plan", None)
    return isinstance(weighter, MiniBatchWeighter) and own is MiniBatchWeighter.plan


def _followed(problem: WindowProblem, actions: Tensor, *, derivatives: bool) -> Trajectory[Rollout]:
    """Train through the window with the given actions, whatever the states are."""
    return problem.rollout(lambda t, z: actions[t], derivatives=derivatives)  # noqa: ARG005
