"""The race itself: real trainings of a small learner, whose best weighter is known.

Tasks are linear regressions about one common slope; some have a slope of another sign, which are
the wrong ones. `Knows` drops them, `Favours` trains on nothing else.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

import towpath as tp
from towpath.dynamics import OptimiserState
from towpath.weighters import Plan, Weighter
from towpath.weighters.race.memory import Branch, Heat, RaceMemory
from towpath.weighters.race.race import Race
from towpath.weighters.tensors import TENSORS, parted

T, M = 2, 4
SLOPE = torch.linspace(-1, 1, 3, dtype=torch.float64)


def fn(params: Mapping[str, Tensor], task: "Task") -> tuple[Tensor, Tensor]:
    return task.x @ params["w"], task.y


@dataclass(frozen=True, eq=False)
class Task:
    x: Tensor
    y: Tensor
    info: dict[str, Any]


def task(seed: int, *, wrong: bool = False) -> Task:
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(6, 3, generator=g, dtype=torch.float64)
    slope = (-SLOPE if wrong else SLOPE) + 0.05 * torch.randn(3, generator=g, dtype=torch.float64)
    return Task(x, x @ slope, {"mislabelled": wrong})


def window(number: int, *, wrong: int = 2) -> list[list[Task]]:
    first = 1000 * (number + 1)
    return [[task(first + t * M + i, wrong=i < wrong) for i in range(M)] for t in range(T)]


JUDGES = [task(i) for i in range(12)]


class Knows(tp.MiniBatchWeighter):
    """Weight on the right tasks only."""

    def weights(self, batch, state):
        w = torch.tensor([float(not info["mislabelled"]) for info in batch.infos])
        return w / w.sum().clamp_min(1), {"seen": state.get("seen", 0) + 1}


class Favours(tp.MiniBatchWeighter):
    """Weight on the wrong tasks only."""

    def weights(self, batch, state):
        w = torch.tensor([float(info["mislabelled"]) for info in batch.infos])
        return w / w.sum().clamp_min(1), state


class Breaks(tp.MiniBatchWeighter):
    """So much weight that no number is finite afterwards."""

    def weights(self, batch, state):
        return torch.full_like(batch.losses, 1e300), state


def race(**options: Any) -> Race:
    rules: dict[str, Weighter] = options.pop("rules", {"uniform": tp.Uniform(), "knows": Knows()})
    settings = {"first": 4, "length": 8, "looks": 4, "spacing": 3.0, "deals": 1, **options}
    return Race(rules, **settings)


@dataclass
class Training:
    """A training by hand: what `train_step` does, without a run folder."""

    weighter: Race
    params: dict[str, Tensor]
    optimizer: OptimiserState
    state: Any = None

    def step(self, tasks: Sequence[Sequence[Task]], judges: Sequence[Task] = JUDGES) -> Plan:
        plan = self.weighter.plan(
            objective(),
            self.params,
            self.optimizer,
            tasks,
            judges=judges,
            state=self.state,
            seed=3,
        )
        assert plan.status.usable
        self.params, self.optimizer = plan.params, plan.optimizer_state
        self.state = plan.weighter_state
        return plan

    def error(self) -> float:
        return float((self.params["w"] - SLOPE).norm())


def objective() -> tp.Objective:
    return tp.Objective.from_function(fn, loss="mse")


def training(weighter: Race, lr: float = 0.05) -> Training:
    params = {"w": torch.zeros(3, dtype=torch.float64)}
    return Training(weighter, params, tp.SGD(lr=lr, momentum=0.5).init(params))


def run(weighter: Race, windows: int = 8, **options: Any) -> tuple[Training, list[Plan]]:
    made = training(weighter)
    return made, [made.step(window(i, **options)) for i in range(windows)]


def leaders(plans: list[Plan]) -> list[str]:
    return [plan.race.leader for plan in plans if plan.race is not None]


def test_the_better_arm_wins_the_heat_and_training_goes_on_with_its_branch():
    made, plans = run(race())
    # two windows before the heat, four in it, the last of which ends it
    assert leaders(plans) == ["uniform"] * 5 + ["knows"] * 3
    # its branch: as if `Knows` had trained from the beginning of the heat
    by_hand = training(race())
    for i in range(2):
        by_hand.step(window(i))
    alone = Training(Knows(), by_hand.params, by_hand.optimizer)
    for i in range(2, 6):
        plan = Knows().plan(objective(), alone.params, alone.optimizer, window(i), seed=3)
        alone.params, alone.optimizer = plan.params, plan.optimizer_state
    assert torch.equal(plans[5].params["w"], alone.params["w"])
    assert plans[5].race is not None
    assert plans[5].race.ended
    assert plans[5].race.standings["knows"].gain > 0
    uniform = training(race(first=10**6))
    for i in range(8):
        uniform.step(window(i))
    assert made.error() < 0.5 * uniform.error()


def test_where_no_arm_is_better_uniform_stays_and_is_trained_as_if_there_were_no_race():
    made, plans = run(race(rules={"uniform": tp.Uniform(), "favours": Favours()}))
    assert set(leaders(plans)) == {"uniform"}
    alone = training(race(first=10**6))
    for i in range(8):
        alone.step(window(i))
    assert torch.equal(made.params["w"], alone.params["w"])


def test_a_later_heat_changes_its_mind_when_the_tasks_change():
    weighter = race(rules={"uniform": tp.Uniform(), "knows": Knows(), "favours": Favours()})
    made = training(weighter)
    seen = []
    for i in range(14):
        # the tasks of the second half are all right: `Knows` equals uniform there
        seen.append(made.step(window(i, wrong=2 if i < 6 else 0)))
    assert "knows" in leaders(seen)
    assert leaders(seen)[-1] in ("uniform", "knows")
    assert made.state["heats"] == 2


def test_half_of_the_arms_are_dropped_at_half_time_but_never_uniform():
    arms = {"uniform": tp.Uniform(), "knows": Knows(), "favours": Favours()}
    _, plans = run(race(rules=arms))
    dropped = [plan.race.dropped for plan in plans if plan.race is not None]
    assert dropped[3] == ("favours",)
    assert plans[4].evaluations < plans[3].evaluations


def test_an_arm_that_was_dropped_never_hides_one_that_still_runs():
    """At half-time `favours` was further ahead than `knows` is at the end; it cannot be chosen."""
    arms = {"uniform": tp.Uniform(), "knows": Knows(), "favours": Favours()}
    made = training(race(rules=arms))
    here = Branch(made.params["w"], made.optimizer)
    scores = {
        "uniform": [[0.5, 0.6, 0.7]] * 4,
        "knows": [[0.6, 0.7, 0.81]] * 4,
        "favours": [[0.9, 1.0, 1.0]] * 2,
    }
    heat = Heat(8, scores, {"knows": here}, halved=True)
    record = made.weighter.heats.decide(RaceMemory("uniform"), heat)
    assert (record.leader, record.led, record.ended) == ("knows", "uniform", True)
    assert record.share == pytest.approx(0.1), "the level is shared by all that were judged"
    assert record.standings.keys() == {"knows"}


@pytest.mark.parametrize("judges", [(), JUDGES[:1]], ids=len)
def test_without_judges_enough_there_is_no_heat(judges):
    made = training(race())
    for i in range(8):
        plan = made.step(window(i), judges=judges)
        assert plan.race is not None
        assert (plan.race.leader, dict(plan.race.standings)) == ("uniform", {})


def test_judges_that_cannot_be_dealt_anew_are_evaluated_once():
    (_, once), (_, often) = run(race(deals=1)), run(race(deals=10))
    assert [plan.evaluations for plan in once] == [plan.evaluations for plan in often]
    assert [plan.race for plan in once] == [plan.race for plan in often]


def test_judges_that_are_left_out_during_a_heat_do_not_decide_it():
    made, few = training(race()), JUDGES[:-2]
    last = [made.step(window(i)) for i in range(4)][-1].race  # the heat begins at step 4
    assert len(made.state["heat"]["scores"]["uniform"][-1]) == len(JUDGES)
    steps = 4
    while last is not None and not last.ended:
        last = made.step(window(steps), few).race
        steps += 1
    assert last is not None
    assert last.leader == "knows"
    assert {one.judges for one in last.standings.values()} == {len(few)}


def test_an_arm_that_breaks_leaves_the_heat_and_the_training_is_not_harmed():
    arms = {"uniform": tp.Uniform(), "breaks": Breaks(), "knows": Knows()}
    made, plans = run(race(rules=arms))
    assert {plan.race.broke for plan in plans if plan.race} == {(), ("breaks",)}
    assert made.state["gains"]["breaks"] == -math.inf, "the last to be tried again"
    assert leaders(plans)[-1] == "knows"
    assert bool(torch.isfinite(made.params["w"]).all())


def test_a_state_through_json_and_tensors_in_the_middle_of_a_heat_goes_on_to_the_bit():
    whole, _ = run(race())
    parts = training(race())
    for i in range(8):
        parts.step(window(i))
        plain, tensors = parted(parts.state)
        copied = {name: t.clone() for name, t in tensors.items()}
        parts.state = {**json.loads(json.dumps(plain)), TENSORS: copied}
        assert bool(tensors) == (i in (2, 3, 4, 6))  # in a heat, but not after its last window
    assert torch.equal(whole.params["w"], parts.params["w"])
    assert whole.state["leader"] == parts.state["leader"] == "knows"


def test_a_rule_that_learns_from_losses_enters_the_heat_with_what_it_saw():
    arms = {"uniform": tp.Uniform(), "mixture": tp.Mixture(window=40, warmup=2)}
    made = training(race(rules=arms))
    for i in range(2):
        made.step(window(i))
    seen = made.state["rules"]["mixture"]
    assert seen["step"] == 2 * T
    assert len(seen["rule"]["losses"]) == 2 * T * M


def test_targets_are_passed_to_the_arms_that_want_them_and_to_no_other():
    arms = {"uniform": tp.Uniform(), "opus": tp.OPUS(), "plan": tp.TOW.towards_targets()}
    weighter = race(rules=arms)
    assert weighter.wants_targets
    made = training(weighter)
    for i in range(8):
        steered(weighter, made, i)
    assert made.state["heats"] == 2
    assert made.state["gains"].keys() == {"opus", "plan"}


def test_a_task_that_is_not_finite_is_muted_for_every_arm():
    from towpath.training import TrainState, train_step

    weighter = _WithJudges(race())
    made = training(race())
    state = TrainState(made.params, made.optimizer)
    for i in range(6):
        tasks = window(i)
        if i == 3:
            tasks[0][1] = replace(tasks[0][1], y=tasks[0][1].y * torch.nan)
        state, records = train_step(state, tasks, objective=objective(), weighter=weighter)
        if i == 3:
            assert records[0].events[0].text == "task not finite"
    assert state.step == 6 * T
    assert state.weighter_state is not None
    assert state.weighter_state["leader"] == "knows"


class _WithJudges:
    """A race that is given its judges by hand."""

    wants_targets = False

    def __init__(self, own: Race) -> None:
        self.own = own

    def plan(self, *parts: Any, **options: Any) -> Plan:
        return self.own.plan(*parts, judges=JUDGES, **options)


def test_a_plan_of_a_race_is_applied_to_a_real_model():
    model = torch.nn.Linear(3, 1, bias=False).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    state = None

    def forward(params: Mapping[str, Tensor], one: Task) -> tuple[Tensor, Tensor]:
        return (one.x @ params["weight"].T)[:, 0], one.y

    for i in range(7):
        plan = race().plan(
            tp.Objective.from_function(forward, loss="mse"),
            model,
            optimizer,
            window(i),
            judges=JUDGES,
            state=state,
        )
        plan.apply_(model, optimizer)
        state = plan.weighter_state
    assert state is not None
    assert state["leader"] == "knows"
    assert all(float(slot["step"]) == 7 * T for slot in optimizer.state.values())


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"rules": {"uniform": tp.Uniform()}}, "at least two"),
        ({"level": 2.0}, "level"),
        ({"spacing": 1.0}, "spacing"),
        ({"length": 0}, "length"),
        ({"rules": {"uniform": tp.Uniform(), "inner": Race()}}, "'inner', which judges itself"),
        ({"rules": {}}, "found 0 rules; expected at least two"),
        ({"rules": None}, "found the rules None; expected weighters by name"),
        ({"rules": [tp.Uniform(), tp.Trim()]}, "expected weighters by name"),
        ({"rules": {"uniform": tp.Uniform(), "b": "mixture"}}, "expected weighters by name"),
        ({"length": 2.5}, "length=2.5; expected a whole number"),
        ({"spacing": math.inf}, "spacing=inf"),
    ],
)
def test_options_that_make_no_race_are_refused(options, word):
    with pytest.raises(ValueError, match=word):
        race(**options)


def test_a_plan_about_a_race_is_refused():
    with pytest.raises(ValueError, match="which judges; expected a weighter that does not"):
        tp.TOW(nominal=race())


def test_a_state_of_another_weighter_is_refused():
    made = training(race())
    made.state = {"step": 3, "rule": {}}
    with pytest.raises(ValueError, match="state of a race"):
        made.step(window(0))


def about(**options):
    """A race of a rule with a memory and of a plan about the same rule."""
    plan = tp.TOW.towards_targets(nominal=tp.Mixture(window=40, warmup=2))
    arms = {"mixture": tp.Mixture(window=40, warmup=2), "plan": plan, "uniform": tp.Uniform()}
    return race(rules=arms, **options)


def steered(weighter, made, i):
    """One window of a race whose plans need targets."""
    targets = [[task(77 + t), task(78 + t)] for t in range(T)]
    plan = weighter.plan(
        objective(),
        made.params,
        made.optimizer,
        window(i),
        targets=targets,
        judges=JUDGES,
        state=made.state,
    )
    made.params, made.optimizer, made.state = (
        plan.params,
        plan.optimizer_state,
        plan.weighter_state,
    )


def test_a_plan_about_a_rule_enters_the_heat_with_what_the_rule_saw():
    weighter = about()
    made = training(weighter)
    for i in range(2):
        steered(weighter, made, i)
    own, planned = made.state["rules"]["mixture"], made.state["rules"]["plan"]
    assert planned == {"nominal": own}
    assert planned["nominal"]["step"] == 2 * T


def test_rules_watch_a_plan_that_leads():
    weighter = about()
    made = training(weighter)
    steered(weighter, made, 0)
    before = made.state["rules"]["mixture"]
    made.state = {**made.state, "leader": "plan"}
    steered(weighter, made, 1)
    after = made.state["rules"]["mixture"]
    assert after["step"] == before["step"] + T
    assert after == made.state["rules"]["plan"]["nominal"], "both saw the same losses"
    alone = weighter.rules["plan"].plan(
        objective(),
        made.params,
        made.optimizer,
        window(2),
        targets=[[task(77 + t), task(78 + t)] for t in range(T)],
        state=made.state["rules"]["plan"],
    )
    steered(weighter, made, 2)
    assert torch.equal(made.params["w"], alone.params["w"]), "watchers change nothing"
