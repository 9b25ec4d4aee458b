"""Evaluation says what each task says by itself."""

import re

import numpy as np
import pytest
import torch
from torch import nn

import towpath as tp
from tests.learners.tasks import classification, regression
from towpath.backbones import MLP
from towpath.learners import MAML, ProtoNet
from towpath.training.evaluation import SIDE_BY_SIDE, evaluate


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


def test_evaluate_of_regression_has_losses_only():
    torch.manual_seed(0)
    learner = MAML(MLP(4, 2, hidden=(5,)).double(), adaptation_steps=1, loss="mse")
    found = evaluate(tp.Objective(learner), learner.parameters(), [regression(seed=1)])
    assert found.accuracies is None
    task = regression(seed=1)
    expected = nn.functional.mse_loss(learner(learner.parameters(), task), task.query_y)
    assert found.mean == pytest.approx(float(expected.detach()), rel=1e-12)


def test_evaluate_refuses_no_task_at_all():
    learner = ProtoNet(nn.Linear(4, 5))
    with pytest.raises(ValueError, match=re.escape("found no task; expected at least one")):
        evaluate(tp.Objective(learner), learner.parameters(), [])
