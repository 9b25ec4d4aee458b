"""`Race`: several weighters train side by side for a while, and trusted tasks choose one.

No weighting is right everywhere: one that drops tasks of high loss is the best where labels are
wrong and a disaster where hard tasks are what counts. So a race tries them on the data at hand. In
a *heat* every arm trains a branch of its own from the same state, on the same mini-batches; trusted
tasks that no arm trains or plans on, the judges, are evaluated at intervals; the arm that is ahead
of the first one, the baseline, beyond chance leads from then on, and its branch becomes the
training. Where no arm is, the baseline leads. Later heats ask again, ever more rarely.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from towpath.metrics import MetricName, metric_named
from towpath.objective import Objective
from towpath.validation import between, check_whole
from towpath.weighters.card import Card
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import Plan
from towpath.weighters.protocol import Weighter, check_targets, wants_judges, wants_targets
from towpath.weighters.race.cards import RACE
from towpath.weighters.race.first import FirstBatch
from towpath.weighters.race.heats import Heats
from towpath.weighters.race.judges import dealt, different_deals, scores
from towpath.weighters.race.lineup import line_up
from towpath.weighters.race.memory import Branch, Heat, RaceMemory
from towpath.weighters.race.record import RaceRecord
from towpath.weighters.race.schedule import Schedule
from towpath.weighters.race.watched import Watched, of_rule, of_weighter, remembering
from towpath.weighters.race.work import judging_work
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.site import FORWARD
from towpath.weighters.start import ModelLike, OptimizerLike, Start
from towpath.weighters.tow.options import TOW
from towpath.weighters.window import Window, check_call, checked_window, refuse_task
from towpath.weighters.work import WindowWork, plans_windows, window_work
from towpath.wording import amount

if TYPE_CHECKING:
    RulesOption = Mapping[str, Weighter]
else:
    # recipes read what may be written from this annotation: sections, which `towpath.recipes`
    # makes weighters of
    RulesOption = dict[str, Any]

AUTO_METRIC: Final = "auto"
"""the metric that suits the tasks, see `towpath.weighters.race.judges`"""
ENOUGH_JUDGES = 2
"""one judge has no scatter, so nothing could be said of chance"""


@dataclass(frozen=True, eq=False)
class _Call:
    """The arguments of one call of `plan`, which every arm is given."""

    objective: Objective
    window: Window
    targets: Window | None
    judges: Sequence[Any]
    muted: Muted
    seed: int
    start: Start

    def plan(
        self, weighter: Weighter, model: ModelLike, optimizer: OptimizerLike, memory: Any
    ) -> Plan:
        """Return an arm's plan of the window from a state."""
        return weighter.plan(
            self.objective,
            model,
            optimizer,
            self.window,
            targets=self.targets if wants_targets(weighter) else None,
            muted=self.muted,
            state=memory,
            seed=self.seed,
        )


@dataclass(frozen=True, eq=False)
class Race:
    """Let trusted tasks choose among weighters while training.

    Args:
        rules: the weighters by name; the first is the baseline, which leads until another is better
            beyond chance. Left out, it is the line-up of `auto`.
        level: the largest chance at which a heat chooses an arm although none is better, where the
            judges' noise is their own (docs/method.md has the rates where it is not).
        first: mini-batches before the first heat.
        spacing: each later heat begins at so many times the step of the one before.
        length: mini-batches of the first heat, rounded up to whole windows; later heats have half
            as many.
        looks: how often the judges are evaluated in a heat.
        deals: how often a judge's samples are dealt anew into support and query, at each look;
            only a `tp.Episode` can be, and tasks of your own type are evaluated once.
        metric: what arms are scored by on the judges; auto is the accuracy, or minus the loss of
            tasks without classes. A recipe's `test.metric` is used where it names one.
    """

    card: ClassVar[Card] = RACE
    wants_judges: ClassVar[bool] = True

    rules: RulesOption = field(default_factory=line_up)
    level: float = 0.2
    first: int = 40
    spacing: float = 4.0
    length: int = 40
    looks: int = 2
    deals: int = 10
    metric: Literal["auto"] | MetricName = AUTO_METRIC

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Mapping) or not all(
            callable(getattr(rule, "plan", None)) for rule in self.rules.values()
        ):
            raise ValueError(
                f"Race found the rules {self.rules!r}; expected weighters by name, the baseline "
                "first. Write tp.Race({'uniform': tp.Uniform(), 'trim': tp.Trim()})."
            )
        if len(self.rules) < 2:
            raise ValueError(
                f"Race found {amount(len(self.rules), 'rule')}; expected at least two, the "
                "baseline first. Add a rule, or use the one that you have by itself."
            )
        inner = [name for name, rule in self.rules.items() if wants_judges(rule)]
        if inner:
            raise ValueError(
                f"Race found the rule {inner[0]!r}, which judges itself; expected weighters that "
                "do not. Add its rules to this race instead."
            )
        between("Race", "level", self.level, 0.0, 1.0)
        for name in ("first", "length", "looks", "deals"):
            check_whole("Race", name, getattr(self, name), 0 if name == "first" else 1)
        if self.metric != AUTO_METRIC:
            metric_named(self.metric)
        if not 1 < self.spacing < math.inf:
            raise ValueError(
                f"Race found spacing={self.spacing}; expected more than 1, such as 4. To have one "
                "heat only, choose a number so large that the second is beyond the end of the run."
            )

    @property
    def wants_targets(self) -> bool:
        """Whether one of the rules wants trusted tasks as targets."""
        return any(wants_targets(weighter) for weighter in self.rules.values())

    @property
    def plans_windows(self) -> bool:
        """Whether one of the rules holds the gradients of a whole window at once."""
        return any(plans_windows(weighter) for weighter in self.rules.values())

    def check_targets(self, given: bool) -> None:  # noqa: ARG002  each rule gets what it wants
        """Raise a ValueError if options of a rule do not go with the targets that it will get.

        Args:
            given: not used, because targets are given to the rules that want them.
        """
        for weighter in self.rules.values():
            check_targets(weighter)

    @property
    def unjudged(self) -> Weighter:
        """The weighter that the race amounts to where there are no judges."""
        return self.rules[self.baseline]

    @property
    def baseline(self) -> str:
        """The name of the arm that all others are compared with."""
        return next(iter(self.rules))

    @property
    def heats(self) -> Heats:
        """When heats are run and how they are decided."""
        schedule = Schedule(self.first, self.spacing, self.length)
        return Heats(tuple(self.rules), schedule, self.level, self.looks)

    def first_decision(self, T: int) -> int:
        """Return the fewest steps of a run in which another rule than the baseline may lead.

        Args:
            T: number of mini-batches of a window.
        """
        return self.heats.schedule.first_decision(T)

    def judged_until(self, steps: int, T: int) -> int:
        """Return the step of a run from which on nothing is judged any more.

        Args:
            steps: number of mini-batches of the run.
            T: number of mini-batches of a window.
        """
        return self.heats.schedule.last_end(steps, T)

    def expected_work(self, T: int, targets: float, inertia: float) -> WindowWork:
        """Return the expected work of a window outside of heats, as if the baseline led.

        Args:
            T: number of mini-batches of the window.
            targets: number of targets of a mini-batch, as a share of M.
            inertia: `inertia` of the optimiser.
        """
        return _arm_work(self.unjudged, T, targets, inertia)

    def judging_work(
        self, steps: range, T: int, targets: float, judges: float, inertia: float
    ) -> WindowWork:
        """Return the expected work of losing arms and judges in a stretch of a run.

        Args:
            steps: the mini-batches of the stretch.
            T: number of mini-batches of a window.
            targets: number of targets of a mini-batch, as a share of M.
            judges: number of judges, as a share of M.
            inertia: `inertia` of the optimiser.
        """
        arms = [_arm_work(rule, T, targets, inertia) for rule in self.rules.values()]
        return judging_work(self.heats.schedule, steps, T, arms, self.looks * self.deals * judges)

    def plan(
        self,
        objective: Objective,
        model: ModelLike,
        optimizer: OptimizerLike,
        window: Window,
        *,
        targets: Window | None = None,
        judges: Sequence[Any] = (),
        muted: Muted = NOTHING_MUTED,
        state: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Plan:  # ten parameters because it is the call of every weighter, and judges
        """Return the leader's plan of the window; in a heat, train the other arms beside it.

        Where a heat ends with another leader, the plan is that of the new one, and its branch is
        where training goes on: it did not begin at the state that was passed.

        Args:
            objective: evaluates the tasks' losses and gradients.
            model: an `nn.Module`, or a dict of parameters.
            optimizer: its `torch.optim` object, or a state from `tp.Adam(lr=...).init(params)`.
            window: T lists of M tasks.
            targets: T lists of trusted tasks, for the rules that want them.
            judges: trusted tasks that are neither trained on nor aimed at; with fewer than two
                there is no heat, and the baseline leads.
            muted: tasks to leave out because their loss or gradient is not finite.
            state: `weighter_state` of the plan of the previous window, or None.
            seed: the seed of all randomness of the plan.
        """
        began = time.perf_counter()
        check_call(objective, seed)
        refuse_task("judges", judges)
        start = Start.of(model, optimizer)
        call = _Call(objective, checked_window(window), targets, judges, muted, seed, start)
        here = Branch(start.state.x, start.optimizer)
        memory = RaceMemory.of(state, self.rules, here)
        if len(judges) < ENOUGH_JUDGES:
            memory.heat = None  # a heat that nobody is left to judge
        elif self.heats.due(memory):
            memory.heat = self.heats.begun(memory, here)
        if memory.heat is None:
            plan = self._follow(memory, call, model, optimizer)
        else:
            plan = self._run(memory, memory.heat, call, model, optimizer)
        return replace(plan, seconds=time.perf_counter() - began)

    def _follow(
        self, memory: RaceMemory, call: _Call, model: ModelLike, optimizer: OptimizerLike
    ) -> Plan:
        """Train the window with the leader; rules that remember mini-batches watch it."""
        lead, rule = self.rules[memory.leader], remembering(self.rules[memory.leader])
        watching = self._watching(memory.leader)
        if rule is None or not watching:
            plan = call.plan(lead, model, optimizer, memory.rules.get(memory.leader))
        else:
            watched = Watched(rule, watching)
            known = {name: of_rule(self.rules[name], own) for name, own in memory.rules.items()}
            own = memory.rules.get(memory.leader)
            joined = of_weighter(lead, watched.joined(known, memory.leader), own)
            one = replace(lead, nominal=watched) if isinstance(lead, TOW) else watched
            plan = call.plan(one, model, optimizer, joined)
            state = of_rule(lead, plan.weighter_state)
            assert state is not None
            after = watched.parted(state)
            for name, seen in after.watching.items():
                before = memory.rules.get(name)
                memory.rules[name] = of_weighter(self.rules[name], seen, before)
            mine = of_weighter(lead, after.lead, plan.weighter_state)
            plan = replace(plan, weighter_state=mine)
        if plan.status.failed and not plan.status.usable:
            return replace(plan, weighter_state=memory.as_state())
        memory.rules[memory.leader] = plan.weighter_state
        memory.step += len(call.window)
        return replace(plan, weighter_state=memory.as_state(), race=RaceRecord(memory.leader))

    def _watching(self, leader: str) -> dict[str, MiniBatchWeighter]:
        """Return the rules that remember mini-batches by which another one trains."""
        rules = {name: remembering(one) for name, one in self.rules.items() if name != leader}
        return {
            n: rule for n, rule in rules.items() if rule is not None and not wants_targets(rule)
        }

    def _run(
        self,
        memory: RaceMemory,
        heat: Heat,
        call: _Call,
        model: ModelLike,
        optimizer: OptimizerLike,
    ) -> Plan:
        """Train the window on every branch of the heat, and look at them where it is time."""
        leader = memory.leader
        if not heat.trained:  # every branch sets out from here
            call = replace(call, objective=FirstBatch.of(call.objective, call.window[0]))
        plans = {leader: call.plan(self.rules[leader], model, optimizer, memory.rules.get(leader))}
        work = plans[leader].evaluations
        if plans[leader].status.failed:
            return replace(plans[leader], weighter_state=memory.as_state())
        broke = []
        for name, branch in list(heat.branches.items()):
            params = branch.params(call.start.layout)
            plan = call.plan(self.rules[name], params, branch.optimizer, memory.rules.get(name))
            work += plan.evaluations
            if plan.status.failed and plan.bad.targets and not plan.bad.tasks:
                # training mutes these targets and asks again, from the same memory
                return replace(plan, evaluations=work, weighter_state=memory.as_state())
            if plan.status.failed:  # the leader trained on the same tasks, so the arm is at fault
                del heat.branches[name], heat.scores[name]
                broke.append(name)
                memory.gains[name] = -math.inf  # the last to be tried again
                continue
            plans[name] = plan
        for name, plan in plans.items():
            memory.rules[name] = plan.weighter_state
            if name != leader:
                heat.branches[name] = Branch.after(plan)
        T = len(call.window)
        memory.step += T
        heat.trained += T
        if self.heats.look_due(memory, heat, T):
            work += self._look(heat, call, plans)
        record = replace(self.heats.decide(memory, heat), broke=tuple(broke))
        plan = plans[memory.leader]
        return replace(
            plan,
            evaluations=work,
            initial=call.start.state,
            weighter_state=memory.as_state(),
            race=record,
        )

    def _look(self, heat: Heat, call: _Call, plans: Mapping[str, Plan]) -> float:
        """Score every arm on the judges; return the work, in mini-batch evaluations.

        Where fewer judges are left than at the look before, earlier looks are forgotten: they are
        partly those of tasks that are not trusted any more.
        """
        look = len(next(iter(heat.scores.values())))
        deals = different_deals(call.judges, self.deals)
        tasks = dealt(call.judges, look, deals)
        metric = None if self.metric == AUTO_METRIC else metric_named(self.metric)
        said = {}
        for name, plan in plans.items():
            judged = partial(scores, call.objective, plan.params, tasks, deals, metric)
            said[name] = call.start.untouched(judged)
        judges = {len(one.values) for one in said.values()}
        if any(len(row) not in judges for rows in heat.scores.values() for row in rows):
            heat.scores = {name: [] for name in heat.scores}
        for name, one in said.items():
            heat.scores[name].append(one.values)
            heat.metric = one.metric
        return FORWARD * len(tasks) * len(plans) / len(call.window[0])


def _arm_work(arm: Weighter, T: int, targets: float, inertia: float) -> WindowWork:
    """Return the expected work of an arm, which gets targets only if it wants them."""
    return window_work(arm, T, targets if wants_targets(arm) else 0.0, inertia)
