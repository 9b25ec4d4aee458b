"""The course of a race: who takes part, when it is looked at, who is dropped."""

import pytest
import torch

import towpath as tp
from towpath.weighters.race.heats import Heats
from towpath.weighters.race.memory import Branch, RaceMemory
from towpath.weighters.race.schedule import Schedule

HEATS = Heats(("uniform", "a", "b", "c", "d"), Schedule(40, 4.0, 40), level=0.2, looks=2)


def here() -> Branch:
    params = {"w": torch.zeros(1)}
    return Branch(params["w"], tp.SGD(lr=0.1).init(params))


def test_the_first_heat_is_of_all_arms_and_the_leader_needs_no_branch():
    heat = HEATS.begun(RaceMemory("uniform"), here())
    assert list(heat.scores) == list(HEATS.arms)
    assert list(heat.branches) == ["a", "b", "c", "d"]


def test_a_later_heat_is_of_the_leader_the_baseline_and_the_best_of_the_others():
    memory = RaceMemory("b", heats=1, gains={"a": -0.1, "b": 0.3, "c": 0.2, "d": -0.2})
    heat = HEATS.begun(memory, here())
    assert list(heat.scores) == ["uniform", "b", "c"]
    assert list(heat.branches) == ["uniform", "c"]


def test_a_heat_is_due_at_its_step_and_not_while_another_one_runs():
    memory = RaceMemory("uniform", step=39)
    assert not HEATS.due(memory)
    memory.step = 40
    assert HEATS.due(memory)
    memory.heat = HEATS.begun(memory, here())
    assert not HEATS.due(memory)


@pytest.mark.parametrize(
    ("heats", "T", "seen"),
    [(0, 5, [20, 40]), (1, 5, [10, 20]), (0, 15, [30, 45]), (1, 20, [20])],
)
def test_looks_are_spread_over_a_heat_and_the_last_one_is_at_its_end(heats, T, seen):
    memory = RaceMemory("uniform", heats=heats)
    heat = HEATS.begun(memory, here())
    found = []
    while heat.trained < HEATS.schedule.lasts(heats):
        heat.trained += T
        if HEATS.look_due(memory, heat, T):
            found.append(heat.trained)
    assert found == seen


def test_rounding_does_not_decide_which_arm_is_dropped_at_half_time():
    memory = RaceMemory("uniform")
    heat = memory.heat = HEATS.begun(memory, here())
    heat.trained = 20
    one, two = 0.1 + 0.2, 0.3
    assert one > two
    heat.scores = {
        "uniform": [[0.2, 0.2]],
        "a": [[two, 0.2]],
        "b": [[one, 0.2]],
        "c": [[0.9, 0.9]],
        "d": [[0.1, 0.2]],
    }
    assert HEATS.decide(memory, heat).dropped == ("b", "d"), "a and b are equal, and a is first"


@pytest.mark.parametrize("heats", [0, 1])
def test_the_level_is_shared_by_all_arms_of_the_race_in_every_heat(heats):
    memory = RaceMemory("uniform", heats=heats)
    heat = memory.heat = HEATS.begun(memory, here())
    heat.trained = 40
    for name in heat.scores:
        heat.scores[name] = [[0.5, 0.6]] * 2
    record = HEATS.decide(memory, heat)
    assert record.ended
    assert record.share == pytest.approx(0.05)
    assert (memory.heats, memory.heat) == (heats + 1, None)
