"""Evaluation says what each task says by itself."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import towpath as tp
from tests.learners.tasks import classification, regression
from towpath.backbones import MLP
from towpath.learners import MAML, ProtoNet
from towpath.losses import loss_of
from towpath.metrics import ACCURACY, LOSS, METRICS, R2, RMSE, Metric
from towpath.recipes.typed import RecipeError
from towpath.runs.task_values import half_width
from towpath.training.evaluation import SIDE_BY_SIDE, chosen_metric, evaluate
from towpath.training.setup import prepare

from .runs import tiny


@pytest.mark.parametrize("workers", [1, 2])
def test_evaluate_says_what_each_task_says_by_itself(workers):
    torch.manual_seed(0)
    learner = ProtoNet(nn.Sequential(nn.Linear(4, 5), nn.Tanh()).double())
    tasks = [classification((1, 2), seed=i) for i in range(SIDE_BY_SIDE + 3)]
    calls: list[int] = []
    found = evaluate(
        tp.Objective(learner, workers=workers),
        learner.parameters(),
        iter(tasks),
        progress=calls.append,
    )
    outputs = [learner(learner.parameters(), task) for task in tasks]
    hits = [
        float((o.argmax(1) == task.query_y).double().mean())
        for o, task in zip(outputs, tasks, strict=True)
    ]
    losses = [
        float(nn.functional.cross_entropy(o.detach(), task.query_y))
        for o, task in zip(outputs, tasks, strict=True)
    ]
    assert found.accuracies is not None
    np.testing.assert_allclose(found.accuracies, hits)
    np.testing.assert_allclose(found.losses, losses, rtol=1e-12)
    assert calls == [SIDE_BY_SIDE, len(tasks)]


def test_classes_are_counted_by_name_where_the_tasks_name_them():
    torch.manual_seed(0)
    learner = ProtoNet(nn.Sequential(nn.Linear(4, 5), nn.Tanh()).double())
    names = (("a", "b"), ("b", "c"), ("c", "a"))
    tasks = [
        replace(classification((1, 2), seed=i), info={"classes": list(names[i % 3])})
        for i in range(SIDE_BY_SIDE + 3)
    ]
    found = evaluate(tp.Objective(learner), learner.parameters(), tasks).confusion
    assert found is not None
    assert found.names == ("a", "b", "c")
    expected = {name: [0, 0] for name in found.names}
    for task in tasks:
        hits = learner(learner.parameters(), task).argmax(1) == task.query_y
        for label, hit in zip(task.query_y.tolist(), hits.tolist(), strict=True):
            expected[task.info["classes"][label]][0] += 1
            expected[task.info["classes"][label]][1] += hit
    for name, (samples, right) in expected.items():
        assert found.samples(name) == samples
        assert found.accuracy(name) == right / samples
    nameless = evaluate(
        tp.Objective(learner), learner.parameters(), [*tasks, classification((1, 2))]
    )
    assert nameless.confusion is None


def linear_regression(tasks: int = SIDE_BY_SIDE + 3):
    torch.manual_seed(0)
    learner = MAML(MLP(4, 2, hidden=(5,)).double(), adaptation_steps=1, loss="mse")
    return learner, [regression(seed=i) for i in range(tasks)]


def test_evaluate_of_regression_is_judged_by_r2_with_rmse_and_loss_beside():
    learner, tasks = linear_regression()
    found = evaluate(tp.Objective(learner), learner.parameters(), tasks)
    assert found.accuracies is None
    assert found.metric == R2
    assert found.others == [RMSE, LOSS]
    outputs = [learner(learner.parameters(), task).detach() for task in tasks]
    squares = [
        float(((o - task.query_y) ** 2).mean()) for o, task in zip(outputs, tasks, strict=True)
    ]
    np.testing.assert_allclose(found.losses, squares, rtol=1e-12)
    np.testing.assert_allclose(found.of(RMSE).values, np.sqrt(squares), rtol=1e-12)
    spreads = [float(((t.query_y - t.query_y.mean(0)) ** 2).mean()) for t in tasks]
    np.testing.assert_allclose(found.values, 1 - np.array(squares) / spreads, rtol=1e-12)
    assert found.interval == half_width(found.values)
    assert found.worst_tenth == found.values.min()
    assert found.of(RMSE).worst_tenth == found.of(RMSE).values.max()


def test_adaptation_is_seen_in_r2():
    # sinusoids of one frequency: ten inner steps must explain more than none
    torch.manual_seed(0)
    x = torch.linspace(-3, 3, 40, dtype=torch.float64)[:, None]
    tasks = []
    for phase in torch.linspace(0, 2, 12, dtype=torch.float64):
        y = torch.sin(x + phase)
        tasks.append(tp.Episode(x[::2], y[::2], x[1::2], y[1::2]))
    model = MLP(1, 1, hidden=(20,)).double()
    means = []
    for steps in (0, 10):
        learner = MAML(model, adaptation_steps=steps, inner_lr=0.1, loss="mse")
        means.append(evaluate(tp.Objective(learner), learner.parameters(), tasks).mean)
    assert means[1] > means[0] + 0.2


def test_the_main_metric_may_be_chosen_and_others_left_out():
    learner, tasks = linear_regression(3)
    objective, params = tp.Objective(learner), learner.parameters()
    assert evaluate(objective, params, tasks, main=LOSS).metric == LOSS
    only = evaluate(objective, params, tasks, metrics=[RMSE])
    assert list(only.by_metric) == [RMSE, LOSS]
    assert only.metric == RMSE
    with pytest.raises(ValueError, match="main metric accuracy does not suit the tasks; expected"):
        evaluate(objective, params, tasks, main=ACCURACY)


def test_a_metric_of_your_own_is_computed_beside():
    def largest(outputs, targets):
        return float((outputs - targets).abs().max())

    own = Metric("largest", "largest error", largest, lambda classes: classes is None, False)
    learner, tasks = linear_regression(3)
    found = evaluate(tp.Objective(learner), learner.parameters(), tasks, metrics=[own])
    assert found.metric == own
    assert found.worst_tenth == found.values.max() > 0


@pytest.mark.parametrize(("ways", "metric"), [(2, "roc_auc"), (5, "accuracy"), (5, "loss")])
def test_a_recipe_may_choose_the_main_metric(ways, metric):
    recipe = tiny(episodes={"ways": ways}, test={"metric": metric})
    assert chosen_metric(recipe, loss_of("cross_entropy")) == METRICS[metric]
    assert chosen_metric(tiny(), loss_of("cross_entropy")) is None


@pytest.mark.parametrize(
    ("ways", "metric", "loss", "expected"),
    [
        (5, "roc_auc", "cross_entropy", "tasks of 5 classes do not have; expected auto or one of"),
        (2, "r2", "cross_entropy", "one of accuracy, roc_auc, average_precision, loss."),
        (2, "accuracy", "mse", "tasks of regression do not have; expected auto or one of r2, rmse"),
    ],
)
def test_a_main_metric_that_the_tasks_do_not_have_is_refused(ways, metric, loss, expected):
    recipe = tiny(episodes={"ways": ways}, test={"metric": metric})
    with pytest.raises(RecipeError, match=re.escape(expected)):
        chosen_metric(recipe, loss_of(loss))


def test_a_main_metric_is_refused_before_training():
    recipe = tiny(episodes={"ways": 3, "shots": 1, "query": 2}, test={"metric": "roc_auc"})
    with pytest.raises(RecipeError, match=r"test\.metric is 'roc_auc', which tasks of 3 classes"):
        prepare(recipe)


def test_evaluate_refuses_no_task_at_all():
    learner = ProtoNet(nn.Linear(4, 5))
    with pytest.raises(ValueError, match=re.escape("found no task; expected at least one")):
        evaluate(tp.Objective(learner), learner.parameters(), [])
