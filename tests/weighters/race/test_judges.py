"""Judges: the same samples in many deals, scored as a test would score them."""

import math

import pytest
import torch

import towpath as tp
from tests.learners.tasks import classification
from towpath.learners import ProtoNet
from towpath.weighters.race.judges import ACCURACY, LOSS, dealt, scores


def learner() -> ProtoNet:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return ProtoNet(torch.nn.Linear(4, 3))


JUDGES = [classification((2, 2), seed=i, dtype=torch.float32) for i in range(3)]


def test_deals_differ_from_look_to_look_and_are_the_same_for_every_arm():
    first, again, later = dealt(JUDGES, 0, 4), dealt(JUDGES, 0, 4), dealt(JUDGES, 1, 4)
    assert len(first) == 3 * 4
    assert first[0] is JUDGES[0], "the first deal is the task itself"
    for one, other in zip(first, again, strict=True):
        assert torch.equal(one.query_x, other.query_x)
    assert not any(
        torch.equal(one.support_x, other.support_x) for one in first[:4] for other in later[:4]
    )


def test_a_task_of_a_users_own_type_is_never_dealt_anew():
    judges = [object(), object()]
    assert dealt(judges, 3, 2) == [judges[0], judges[0], judges[1], judges[1]]


def test_a_score_is_the_mean_accuracy_over_the_deals():
    made, tasks = learner(), dealt(JUDGES, 2, 4)
    found = scores(tp.Objective(made), made.parameters(), tasks, 4)
    assert found.metric == ACCURACY
    right = [
        float((made(made.parameters(), one).argmax(1) == one.query_y).float().mean())
        for one in tasks
    ]
    expected = [sum(right[4 * j : 4 * j + 4]) / 4 for j in range(3)]
    assert found.values == pytest.approx(expected)


def test_without_classes_the_score_is_minus_the_loss_and_a_broken_one_is_the_worst():
    def fn(params, task):
        return task * params["w"], torch.zeros(2)

    objective = tp.Objective.from_function(fn, loss="mse")
    tasks = [torch.ones(2), torch.full((2,), 3.0), torch.full((2,), torch.nan)]
    found = scores(objective, {"w": torch.ones(1)}, tasks, 1)
    assert (found.values, found.metric) == ([-1.0, -9.0, -math.inf], LOSS)
