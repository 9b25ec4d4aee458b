"""The expected work of a race: heats that fall into the run, and nothing else."""

import pytest
import torch

import towpath as tp
from towpath.weighters import wants_targets
from towpath.weighters.race.memory import Branch, RaceMemory
from towpath.weighters.race.race import Race
from towpath.weighters.rules.site import FORWARD
from towpath.weighters.work import WindowWork, run_work, window_work

T = 5
ARMS = {"uniform": tp.Uniform(), "mixture": tp.Mixture(), "trim": tp.Trim()}
RACE = Race(ARMS, first=40, length=40, spacing=4.0, looks=2, deals=10)


def work(steps: range, judges: float = 0.5) -> WindowWork:
    return run_work(RACE, T, steps, judges=judges)


def test_before_the_first_heat_and_without_judges_a_race_costs_what_its_baseline_does():
    assert work(range(40)) == window_work(tp.Uniform(), T).times(8)
    assert work(range(400), judges=0.0) == window_work(tp.Uniform(), T).times(80)


def test_the_first_heat_trains_all_arms_to_half_time_and_half_of_them_to_the_end():
    # two other arms for 20 mini-batches and one for 20; three and then two arms are judged
    found = work(range(80))
    assert found.evaluations == pytest.approx(80 + 2 * 20 + 1 * 20)
    assert found.forwards == pytest.approx(2 * 10 * 0.5 * (1 + 1.5))


def test_a_later_heat_trains_the_best_of_the_others_beside_the_baseline():
    found = work(range(160, 180))
    assert found.evaluations == pytest.approx(20 + 20)
    assert found.forwards == pytest.approx(2 * 10 * 0.5 * 2)


def test_a_stretch_counts_the_part_of_a_heat_that_falls_into_it():
    rest = work(range(60, 80))
    assert rest.evaluations == pytest.approx(20 + 0.5 * 60)
    assert work(range(80, 160)).evaluations == pytest.approx(80)


def test_a_race_that_begins_at_once_counts_later_heats_from_the_end_of_the_first():
    at_once = Race(ARMS, first=0, length=10)
    found = run_work(at_once, T, range(60), judges=0.5)  # heats of 10 and, from step 40 on, of 5
    assert found.evaluations == pytest.approx(60 + 2 * 5 + 1 * 5 + 5)


def test_heats_that_nothing_is_left_to_judge_are_not_counted():
    alone = window_work(tp.Uniform(), T)
    assert run_work(RACE, T, range(400), judges=0.5, judged_until=None) == work(range(400))
    first = run_work(RACE, T, range(400), judges=0.5, judged_until=80)
    assert first.evaluations == pytest.approx(work(range(80)).evaluations + 320)
    assert first.forwards == pytest.approx(work(range(80)).forwards)
    assert run_work(RACE, T, range(90, 400), judges=0.5, judged_until=80) == alone.times(62)


def test_judging_is_ever_rarer():
    def share(steps: int) -> float:
        return work(range(steps)).evaluations / steps - 1

    assert share(400) > share(1000) > share(5000)
    assert share(5000) < 0.1


def test_arms_that_plan_on_a_part_are_counted_as_that_part():
    arms = {"uniform": tp.Uniform(), "a": tp.TOW.fast(), "b": tp.TOW.fast(query_share=0.5)}
    assert run_work(Race(arms), T, range(90), judges=0.5).parts == 0


def test_a_race_counts_what_it_is_expected_to_count():
    from tests.weighters.race.test_race import JUDGES, M, race, training, window
    from tests.weighters.race.test_race import T as SHORT

    weighter = race(rules={"uniform": tp.Uniform(), "trim": tp.Trim(), "mixture": tp.Mixture()})
    made = training(weighter)
    counted = sum(made.step(window(i)).evaluations for i in range(6))  # the heat and no more
    expected = run_work(weighter, SHORT, range(6 * SHORT), judges=len(JUDGES) / M)
    assert counted == pytest.approx(expected.evaluations + expected.forwards / 3, rel=0.15)


PER_STEP, TARGETS, JUDGES = 12, 2, 7
"""tasks of a step as in docs/results: ten, and two trusted ones; a third of twenty judges"""


def judged(gains: dict[str, float], steps: int) -> tuple[float, str]:
    """What `auto` adds to its leader, over uniform's work, where every arm gains so much."""
    race, work = Race(), 0.0
    params = {"w": torch.zeros(1)}
    here = Branch(params["w"], tp.SGD(lr=0.1).init(params))
    memory = RaceMemory(race.baseline)
    for _ in range(0, steps, T):
        if race.heats.due(memory):
            memory.heat = race.heats.begun(memory, here)
        memory.step += T
        heat = memory.heat
        if heat is None:
            continue
        for name in heat.branches:
            rule = race.rules[name]
            one = window_work(rule, T, TARGETS / PER_STEP if wants_targets(rule) else 0.0)
            work += one.evaluations + one.part_share * one.parts + FORWARD * one.forwards
        heat.trained += T
        if race.heats.look_due(memory, heat, T):
            running = (memory.leader, *heat.branches)
            work += FORWARD * race.deals * JUDGES / PER_STEP * len(running)
            for name in running:
                heat.scores[name].append([0.5 + gains.get(name, 0.0)] * JUDGES)
        race.heats.decide(memory, heat)
    return work / steps, memory.leader


@pytest.mark.parametrize(
    ("gains", "leader"),
    [
        # nothing is better, and the plan, the dearest arm, is dropped last
        ({"uniform": -0.3, "evidence-easy": -0.2, "tow-evidence": -0.1}, "evidence"),
        ({"evidence-easy": 0.1, "tow-evidence": 0.05}, "evidence-easy"),
        ({"evidence-easy": 0.05, "tow-evidence": 0.1}, "tow-evidence"),
        ({"uniform": 0.1, "tow-evidence": 0.05}, "uniform"),
    ],
)
def test_judging_costs_at_most_its_budget_whoever_leads(gains, leader):
    short, led = judged(gains, 400)
    assert led == leader
    assert 0.3 < short <= 0.6
    assert judged(gains, 2000)[0] <= 0.2
