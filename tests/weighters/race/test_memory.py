"""The memory of a race: as it was, through its plain values and tensors, or refused."""

from typing import Any

import pytest
import torch

import towpath as tp
from towpath.dynamics import OptimiserState
from towpath.weighters.race.memory import Branch, Heat, RaceMemory
from towpath.weighters.tensors import TENSORS

RULES = ("uniform", "mixture", "trim")


def branch(value: float) -> Branch:
    made = tp.Adam(lr=0.1).init({"w": torch.zeros(3)})
    held = OptimiserState(made.dynamics, tuple(s + value for s in made.slots), (7,))
    return Branch(torch.full((3,), value), held)


HERE = branch(0.0)


def in_a_heat() -> RaceMemory:
    heat = Heat(
        4, {"uniform": [[0.5, 0.6]], "mixture": [[0.7, 0.4]]}, {"mixture": branch(2.0)}, True
    )
    return RaceMemory("uniform", 12, 1, {"mixture": {"step": 3, "rule": {}}}, {"trim": 0.1}, heat)


def state() -> dict[str, Any]:
    return in_a_heat().as_state()


def test_the_baseline_leads_before_the_first_window():
    memory = RaceMemory.of(None, RULES, HERE)
    assert (memory.leader, memory.step, memory.heat) == ("uniform", 0, None)


def test_a_memory_is_read_back_as_it_was():
    found, expected = RaceMemory.of(state(), RULES, HERE), in_a_heat()
    assert found.heat is not None
    assert expected.heat is not None
    for name in ("leader", "step", "heats", "rules", "gains"):
        assert getattr(found, name) == getattr(expected, name)
    for name in ("trained", "scores", "halved", "metric"):
        assert getattr(found.heat, name) == getattr(expected.heat, name)
    one, other = found.heat.branches["mixture"], expected.heat.branches["mixture"]
    assert torch.equal(one.x, other.x)
    assert one.optimizer.steps == (7,)
    assert all(map(torch.equal, one.optimizer.slots, other.optimizer.slots))


def test_what_is_read_does_not_change_the_state_it_was_read_from():
    given = state()
    found = RaceMemory.of(given, RULES, HERE)
    assert found.heat is not None
    found.heat.scores["mixture"].append([1.0, 1.0])
    found.rules["trim"] = {}
    del found.heat.branches["mixture"]
    assert given["heat"] == state()["heat"]
    assert given["rules"] == state()["rules"]


def damaged(**changes: Any) -> dict[str, Any]:
    return {**state(), **changes}


def without(name: str) -> dict[str, Any]:
    return {key: t for key, t in state()[TENSORS].items() if key != name}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"step": 3, "rule": {}}, r"has the entries \['rule', 'step'\]; expected"),
        (damaged(tensors=without("mixture/x")), "the tensor mixture/x is missing"),
        (damaged(tensors=without("mixture/slot1")), "the tensor mixture/slot1 is missing"),
        (
            damaged(tensors={**state()[TENSORS], "mixture/x": torch.zeros(4)}),
            r"mixture/x is torch.float32 \[4\], not torch.float32 \[3\]",
        ),
        (damaged(leader="tow"), "is of the rules .*; expected uniform, mixture, trim"),
        (damaged(heat={"trained": 3}), "cannot be read"),
        (damaged(step="many"), "cannot be read"),
        (damaged(rules=3), "cannot be read"),
    ],
)
def test_a_memory_of_something_else_is_refused_in_a_sentence(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        RaceMemory.of(given, RULES, HERE)
