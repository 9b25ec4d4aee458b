"""Frozen parameters: every learner leaves them as they are, in training and in adaptation."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import towpath as tp
from tests.learners.tasks import classification
from towpath.learners import ANIL, LEARNERS, MAML, Learner, MetaSGD
from towpath.objective.draws import derived_seed
from towpath.objective.predicted import Predicted

WINDOW = [[classification([2] * 3, 4, (6,), 10 * t + i) for i in range(3)] for t in range(2)]
TASK = WINDOW[0][0]


class Net(nn.Module):
    """A body that will be frozen, a layer on top of it, and a head."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.neck = nn.Linear(8, 5)
        self.head = nn.Linear(5, outputs)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.head(torch.tanh(self.neck(torch.tanh(self.body(x)))))
        return result


def frozen(name: str, **options: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = Net(3).double()
        net.body.requires_grad_(False)
        learner = LEARNERS[name](net, **options)
    learner.module.double()  # Bayesian TAML's encoder and Ridge's numbers
    return learner


def is_frozen(key: str) -> bool:
    return key.removeprefix("model.").startswith("body.")


def seeded(learner: Learner, params, task) -> Tensor:
    torch.manual_seed(3)
    return learner(params, task)


@pytest.mark.parametrize("name", LEARNERS)
def test_frozen_parameters_are_no_meta_parameters(name):
    learner = frozen(name)
    assert not any(is_frozen(key) for key in learner.parameters())
    assert any("neck" in key for key in learner.parameters())
    assert {key.removeprefix("model.") for key in learner.frozen()} == {"body.weight", "body.bias"}
    outputs = seeded(learner, learner.parameters(), TASK)
    given = {**learner.frozen(), **learner.parameters()}
    assert torch.equal(seeded(learner, given, TASK), outputs)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_plan_trains_what_is_not_frozen_as_torch_does(name, workers):
    learner = frozen(name)
    objective = tp.Objective(learner, workers=workers)
    optimizer = torch.optim.SGD(learner.module.parameters(), lr=0.05)
    before = {key: p.clone() for key, p in learner.module.named_parameters()}
    tp.Uniform().plan(objective, learner.module, optimizer, WINDOW).apply_(
        learner.module, optimizer
    )

    reference = frozen(name)
    theirs = torch.optim.SGD(reference.module.parameters(), lr=0.05)
    for t, batch in enumerate(WINDOW):
        theirs.zero_grad()
        for i, task in enumerate(batch):
            torch.manual_seed(derived_seed(derived_seed(0, t), i))
            predictor = reference.adapt(reference.parameters(), task.support_x, task.support_y)
            (Predicted.by(predictor, task).loss() / len(batch)).backward()
        theirs.step()
    for key, p in learner.module.named_parameters():
        torch.testing.assert_close(p, dict(reference.module.named_parameters())[key])
        if is_frozen(key) or key.endswith("neck.weight"):
            assert torch.equal(p, before[key]) == is_frozen(key)


@pytest.mark.parametrize("name", LEARNERS)
def test_tow_plans_with_frozen_parameters(name):
    learner = frozen(name)
    optimizer = torch.optim.Adam(learner.module.parameters(), lr=0.01)
    plan = tp.TOW().plan(tp.Objective(learner, workers=1), learner.module, optimizer, WINDOW)
    assert plan.status.usable
    assert not any(is_frozen(key) for key in plan.layout.names)


def test_the_inner_loop_does_not_adapt_them():
    learner = frozen("maml", adaptation_steps=1, first_order=False)
    body, seen = learner.model.body, []
    learner.model.body.register_forward_hook(
        lambda module, _, __: seen.append(module.weight.detach().clone())
    )
    learner(learner.parameters(), TASK)
    assert len(seen) == 2  # the support pass and the query pass
    assert all(torch.equal(weight, body.weight) for weight in seen)


def test_workers_follow_frozen_values_and_flags():
    learner = frozen("maml")
    objective = tp.Objective(learner, workers=2)
    batch = WINDOW[0]
    objective.evaluate(learner.parameters(), batch)
    for change in (
        lambda: learner.model.body.weight.data.mul_(0.5),
        lambda: learner.model.neck.requires_grad_(False),
        lambda: learner.model.body.requires_grad_(True),
    ):
        change()
        here = objective.evaluate(learner.parameters(), batch)
        alone = tp.Objective(learner, workers=1).evaluate(learner.parameters(), batch)
        assert torch.equal(here.losses, alone.losses)
        assert torch.equal(here.gradients, alone.gradients)


def test_a_model_that_is_frozen_as_a_whole_still_adapts():
    """After training people freeze a model to use it; its predictions must not change."""
    learner = MAML(Net(3).double())
    params = {key: p.detach().clone() for key, p in learner.parameters().items()}
    outputs = learner(params, TASK)
    learner.module.requires_grad_(False)
    assert learner.parameters().keys() == params.keys()
    assert torch.equal(learner(learner.parameters(), TASK), outputs)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_was_frozen_in_training_does_not_adapt_once_all_is_frozen(name):
    learner = frozen(name)
    outputs = seeded(learner, learner.parameters(), TASK).detach()
    learner.module.requires_grad_(False)
    assert torch.equal(seeded(learner, learner.parameters(), TASK), outputs)


@pytest.mark.parametrize("name", ["mt-net", "bayesian-taml", "abml", "ridge"])
def test_a_learner_of_a_network_that_is_frozen_as_a_whole_trains_what_is_beside_it(name):
    net = Net(3).double().requires_grad_(False)
    make: Any = LEARNERS[name]  # their own arguments differ
    learner = make(net)
    learner.module.double()
    before = {key: p.clone() for key, p in learner.module.named_parameters()}
    assert not any(key.startswith("model.") for key in learner.parameters())
    optimizer = torch.optim.SGD(learner.module.parameters(), lr=0.05)
    plan = tp.Uniform().plan(tp.Objective(learner, workers=1), learner.module, optimizer, WINDOW)
    plan.apply_(learner.module, optimizer)
    for key, p in learner.module.named_parameters():
        if key.startswith("model."):
            assert torch.equal(p, before[key])
    assert any(not torch.equal(p, before[key]) for key, p in learner.parameters().items())

    outputs = seeded(learner, learner.parameters(), TASK).detach()
    if name != "abml":  # whose means, put aside, adapt like the weights of MAML
        learner.module.requires_grad_(False)
        assert torch.equal(seeded(learner, learner.parameters(), TASK), outputs)


def test_meta_sgd_refuses_a_network_that_is_frozen_as_a_whole():
    net = Net(3).requires_grad_(False)
    with pytest.raises(ValueError, match=r"parameters are all frozen.*Unfreeze"):
        MetaSGD(net)


def test_meta_sgd_learns_the_rates_of_a_head_from_zero_on_a_frozen_body():
    net = Net(3).double()
    net.body.requires_grad_(False)
    net.neck.requires_grad_(False)
    learner = MetaSGD(net, zero_head=True)
    assert list(learner.parameters()) == ["rates.head/weight", "rates.head/bias"]
    optimizer = torch.optim.SGD(learner.module.parameters(), lr=0.05)
    plan = tp.Uniform().plan(tp.Objective(learner, workers=1), learner.module, optimizer, WINDOW)
    assert plan.status.usable


@pytest.mark.parametrize("put_aside", [False, True])
def test_a_head_from_zero_adapts_alone_on_a_frozen_body(put_aside):
    net = Net(3).double()
    net.body.requires_grad_(False)
    net.neck.requires_grad_(False)
    learner = MAML(net, inner_lr=0.5, adaptation_steps=3, zero_head=True)
    if put_aside:
        learner.module.requires_grad_(False)
    head = nn.Linear(5, 3).double()
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)

    def embedded(x: Tensor) -> Tensor:
        return torch.tanh(net.neck(torch.tanh(net.body(x)))).detach()

    by_hand = torch.optim.SGD(head.parameters(), lr=0.5)
    for _ in range(3):
        by_hand.zero_grad()
        nn.functional.cross_entropy(head(embedded(TASK.support_x)), TASK.support_y).backward()
        by_hand.step()
    outputs = learner(learner.parameters(), TASK)
    torch.testing.assert_close(outputs, head(embedded(TASK.query_x)).detach())


def test_a_frozen_head_leaves_nothing_to_adapt():
    net = Net(3).double()
    learner = ANIL(net, head="head")
    net.head.requires_grad_(False)
    torch.testing.assert_close(learner(learner.parameters(), TASK), net(TASK.query_x))


def test_meta_sgd_has_no_rates_for_what_does_not_adapt():
    net = Net(3)
    net.body.requires_grad_(False)
    assert not any("body" in key for key in MetaSGD(net).parameters())


def test_missing_parameters_that_are_not_frozen_are_still_refused():
    learner = frozen("maml")
    params = learner.parameters()
    params.pop("neck.bias")
    with pytest.raises(ValueError, match=r"without \['neck.bias'\].*only frozen ones"):
        learner(params, TASK)
