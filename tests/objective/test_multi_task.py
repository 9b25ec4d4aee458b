"""Tasks of different losses and output shapes in one objective."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

import towpath as tp
from tests.oracles.compare import assert_close
from tests.oracles.curvature import dense_gauss_newton
from towpath.objective import Curvature, CurvatureUsed

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(6, 4, generator=GENERATOR, dtype=torch.float64)
LABELS = torch.randint(0, 3, (6,), generator=GENERATOR)
DEPTHS = torch.randn(6, 2, generator=GENERATOR, dtype=torch.float64)
LOSSES = {"kind": nn.CrossEntropyLoss(label_smoothing=0.1), "depth": "huber"}
BATCH = [("kind", X, LABELS), ("depth", X.flip(0), DEPTHS)]


class Heads(nn.Module):
    """A shared body with a head for each kind of task."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 5)
        self.heads = nn.ModuleDict({"kind": nn.Linear(5, 3), "depth": nn.Linear(5, 2)})

    def forward(self, x, head):
        return self.heads[head](torch.tanh(self.body(x)))


def made():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Heads().double()

    def fn(params, task):
        head, x, y = task
        return functional_call(model, params, (x, head)), y, head

    return model, fn, tp.Objective.from_function(fn, loss=LOSSES)


def reference(head, f, y):
    return F.cross_entropy(f, y, label_smoothing=0.1) if head == "kind" else F.huber_loss(f, y)


def test_each_task_has_its_own_loss_gradient_and_curvature():
    model, fn, objective = made()
    params = dict(model.named_parameters())
    eye = torch.eye(2, dtype=torch.float64)
    here = objective.evaluate(params, BATCH, curvature=Curvature("gauss-newton-exact", eye))
    assert here.accuracies is None
    assert here.curvature_used == {CurvatureUsed.GAUSS_NEWTON}
    for i, (head, x, y) in enumerate(BATCH):
        value = reference(head, model(x, head), y)
        pieces = torch.autograd.grad(value, list(params.values()), materialize_grads=True)
        assert_close(here.losses[i], value.detach(), 1e-15)
        assert_close(here.gradients[i], torch.cat([p.reshape(-1) for p in pieces]), 1e-13)

        def loss(f, y, head=head):
            return reference(head, f, y)

        detached = {name: p.detach() for name, p in params.items()}
        dense = dense_gauss_newton(fn, detached, BATCH[i], loss)
        assert here.curvature is not None
        assert_close(here.curvature[i], dense.diagonal(), 1e-10)


@pytest.mark.parametrize("weighter", [tp.Uniform(), tp.TOW(), tp.TOW.faithful()])
def test_plans_train_all_heads_as_torch_does(weighter):
    model, _, objective = made()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    plan = weighter.plan(objective, model, optimizer, [BATCH] * 3)
    plan.apply_(model, optimizer)
    plain, _, _ = made()
    theirs = torch.optim.Adam(plain.parameters(), lr=0.01)
    for weights in plan.weights:
        theirs.zero_grad()
        losses = torch.stack([reference(head, plain(x, head), y) for head, x, y in BATCH])
        (losses * weights).sum().backward()
        theirs.step()
    for ours, expected in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-10)


def test_targets_may_be_of_one_kind_alone():
    model, _, objective = made()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    targets = [[BATCH[1]]] * 3
    plan = tp.TOW.towards_targets().plan(objective, model, optimizer, [BATCH] * 3, targets=targets)
    assert plan.status.usable
    assert float(plan.weights[:, 1].mean()) > float(plan.weights[:, 0].mean())


def test_metrics_are_those_that_suit_all_tasks():
    model, _, objective = made()
    params = dict(model.named_parameters())
    from towpath.metrics import METRICS

    found = objective.measure(params, BATCH, list(METRICS.values()))
    assert [metric.name for metric in found] == ["loss"]
    found = objective.measure(params, BATCH[1:], list(METRICS.values()))
    assert [metric.name for metric in found] == ["r2", "rmse", "loss"]
