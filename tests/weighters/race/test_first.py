"""The first mini-batch of a heat is evaluated once, and nothing differs by a bit."""

from typing import Any

import pytest
import torch
from torch import nn

import towpath as tp
from tests.weighters.race.test_race import fn
from towpath.objective import Evaluation, Objective
from towpath.weighters import Plan
from towpath.weighters.race.first import FirstBatch
from towpath.weighters.race.lineup import line_up
from towpath.weighters.race.race import Race

T, M = 2, 4


def episode(seed: int) -> tp.Episode:
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(3).repeat(2)
    x = torch.randn(12, 5, generator=g) + torch.cat([y, y])[:, None]
    return tp.Episode(x[:6], y, x[6:], y, {"index": seed})


WINDOW = [[episode(M * t + i) for i in range(M)] for t in range(T)]
TARGETS = [[episode(100 + 2 * t + i) for i in range(2)] for t in range(T)]
JUDGES = [episode(200 + i) for i in range(3)]


def objective() -> Objective:
    torch.manual_seed(0)
    return Objective(tp.learners.ProtoNet(nn.Linear(5, 4)), workers=1)


def planned(deals: int = 1) -> Plan:
    """The only window of a heat of all arms of `auto`."""
    own = objective()
    params = {"weight": torch.ones(4, 5), "bias": torch.zeros(4)}
    race = Race(line_up(), first=0, length=T, looks=1, deals=deals)
    return race.plan(
        own, params, tp.Adam(lr=0.01).init(params), WINDOW, targets=TARGETS, judges=JUDGES, seed=3
    )


@pytest.fixture
def asked(monkeypatch) -> list[tuple[Any, ...]]:
    """The tasks of every evaluation that was really made."""
    found: list[tuple[Any, ...]] = []
    plain = Objective.evaluate

    def evaluate(self: Objective, params: Any, tasks: Any, **options: Any) -> Evaluation:
        found.append(tuple(tasks))
        return plain(self, params, tasks, **options)

    monkeypatch.setattr(Objective, "evaluate", evaluate)
    return found


def test_all_arms_of_a_heat_share_the_evaluation_of_its_first_mini_batch(asked, monkeypatch):
    shared = planned()
    assert asked.count(tuple(WINDOW[0])) == 1
    assert asked.count(tuple(WINDOW[1])) == len(line_up())
    asked.clear()
    monkeypatch.setattr(FirstBatch, "of", lambda objective, tasks: objective)
    alone = planned()
    assert asked.count(tuple(WINDOW[0])) == len(line_up())
    assert shared.race == alone.race
    assert shared.evaluations == alone.evaluations
    assert torch.equal(shared.final.x, alone.final.x)
    assert torch.equal(shared.weights, alone.weights)
    found, expected = shared.weighter_state, alone.weighter_state
    assert {k: v for k, v in found.items() if k != "tensors"} == {
        k: v for k, v in expected.items() if k != "tensors"
    }


def test_another_question_is_asked_anew(asked):
    first, params = WINDOW[0], {"weight": torch.ones(4, 5), "bias": torch.zeros(4)}
    own = FirstBatch.of(objective(), first)
    known = own.evaluate(params, first, seed=1)
    assert own.evaluate(params, list(first), skip=(), all_used=True, seed=1) is known
    columns = own.evaluate(params, first, columns=True, seed=1)
    assert torch.equal(columns.gradients, known.gradients)
    assert len(asked) == 1
    moved = {**params, "bias": torch.full((4,), 1e-6)}
    own.evaluate(moved, first, seed=1)
    own.evaluate(params, first, seed=2)
    own.evaluate(params, first, seed=1, skip=(0,))
    own.evaluate(params, first, seed=1, gradients=False)
    own.evaluate(params, first[:3], seed=1)
    own.evaluate(params, WINDOW[1], seed=1)
    own.evaluate(params, first, seed=1, watched=[None] * M)
    assert len(asked) == 8


def test_a_function_of_the_users_is_asked_every_time():
    own = tp.Objective.from_function(fn, loss="mse")
    assert FirstBatch.of(own, WINDOW[0]) is own
