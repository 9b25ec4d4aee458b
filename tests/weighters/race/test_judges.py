"""Judges: the same samples in many deals, scored as a test would score them."""

import math

import pytest
import torch

import towpath as tp
from tests.learners.tasks import classification
from towpath.learners import ProtoNet
from towpath.metrics import LOSS as LOSS_METRIC
from towpath.metrics import RMSE, ROC_AUC
from towpath.weighters.race.judges import ACCURACY, LOSS, dealt, different_deals, scores


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


def test_a_named_metric_is_the_score_and_less_of_a_loss_is_more():
    made = learner()
    tasks = [classification((2, 3), seed=i, dtype=torch.float32) for i in range(3)]
    found = scores(tp.Objective(made), made.parameters(), tasks, 1, ROC_AUC)
    expected = [ROC_AUC.of(made(made.parameters(), one), one.query_y) for one in tasks]
    assert (found.values, found.metric) == (pytest.approx(expected), "roc_auc")
    losses = scores(tp.Objective(made), made.parameters(), tasks, 1, LOSS_METRIC)
    assert losses.metric == LOSS
    assert max(losses.values) < 0


def test_a_judge_on_which_the_metric_is_undefined_is_left_out_and_a_broken_one_is_not():
    positive = {"one class": [1, 1], "two": [0, 1], "broken": [0, 1]}

    def fn(params, task):
        outputs = torch.tensor([[0.0, 1.0], [0.0, 2.0]]) * params["w"]
        return outputs * (math.nan if task == "broken" else 1.0), torch.tensor(positive[task])

    objective = tp.Objective.from_function(fn)
    found = scores(objective, {"w": torch.ones(1)}, ["one class", "two", "broken"], 1, ROC_AUC)
    assert found.values == [1.0, -math.inf]


def test_a_metric_that_the_judges_do_not_have_is_refused():
    def fn(params, task):
        return task * params["w"], torch.zeros(2)

    objective = tp.Objective.from_function(fn, loss="mse")
    with pytest.raises(ValueError, match="do not have the metric 'roc_auc'; expected one of loss"):
        scores(objective, {"w": torch.ones(1)}, [torch.ones(2)], 1, ROC_AUC)
    found = scores(objective, {"w": torch.ones(1)}, [torch.ones(2)], 1, RMSE)
    assert found.values == [-1.0]


def test_only_episodes_have_several_deals():
    assert different_deals(JUDGES, 10) == 10
    assert different_deals([object(), object()], 10) == 1
    assert different_deals([object(), JUDGES[0]], 10) == 10
