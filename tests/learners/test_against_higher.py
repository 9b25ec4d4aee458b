"""One outer step of the MAML family equals the same step written with `higher`, in float64.

The mini-batch is any-shot: its tasks differ in shots and its classes, too.
"""

import copy
from collections.abc import Callable, Iterator

import higher
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.learners.tasks import classification, regression
from tests.oracles.compare import assert_close
from towpath.backbones import MLP, Conv4, ResNet10
from towpath.data.episode import Episode
from towpath.learners import ANIL, MAML, Learner, MetaSGD

STEPS, INNER_LR, META_LR = 3, 0.2, 0.5
SHOTS = [(1, 3, 2), (2, 2, 2), (5, 1, 1)]
LOSSES: dict[str, Callable[..., Tensor]] = {
    "cross_entropy": functional.cross_entropy,
    "mse": functional.mse_loss,
}

Outputs = Iterator[tuple[Episode, Tensor]]


def perceptron() -> tuple[nn.Module, list[Episode], str]:
    model = MLP(inputs=4, outputs=3, hidden=(6, 5), activation="tanh")
    tasks = [classification(shots, seed=seed) for seed, shots in enumerate(SHOTS)]
    return model, tasks, "cross_entropy"


def regressor() -> tuple[nn.Module, list[Episode], str]:
    model = MLP(inputs=4, outputs=2, hidden=(6,))
    return model, [regression(shots, seed=shots) for shots in (3, 5, 8)], "mse"


def convolutional() -> tuple[nn.Module, list[Episode], str]:
    model = Conv4(channels=2, ways=3, image_size=16, filters=3)
    tasks = [classification(s, shape=(2, 16, 16), seed=seed) for seed, s in enumerate(SHOTS)]
    return model, tasks, "cross_entropy"


def residual() -> tuple[nn.Module, list[Episode], str]:
    model = ResNet10(channels=1, ways=3, image_size=20, filters=8, dropout=0, norm="group")
    tasks = [classification(s, shape=(1, 20, 20), seed=seed) for seed, s in enumerate(SHOTS)]
    return model, tasks, "cross_entropy"


SETTINGS = [perceptron, regressor, convolutional, residual]


def step_of_ours(learner: Learner, tasks: list[Episode]) -> dict[str, Tensor]:
    """Meta-parameters after one step of gradient descent on the mean query loss."""
    params = learner.parameters()
    losses = [LOSSES[learner.loss.name](learner(params, task), task.query_y) for task in tasks]
    gradients = torch.autograd.grad(torch.stack(losses).mean(), list(params.values()))
    return {
        name: (value - META_LR * gradient).detach()
        for (name, value), gradient in zip(params.items(), gradients, strict=True)
    }


def step_of_higher(
    model: nn.Module,
    adapted: list[nn.Parameter],
    tasks: list[Episode],
    loss: str,
    first_order: bool,
    rates: list[nn.Parameter] | None = None,
) -> list[Tensor]:
    """The same step with `higher`: the model's parameters, then the rates."""
    callback: Callable[[list[Tensor]], list[Tensor]] | None = None
    if first_order:

        def callback(gradients):
            return [gradient.detach() for gradient in gradients]

    meta_parameters = [*model.parameters(), *(rates or [])]
    inner = torch.optim.SGD([{"params": [p]} for p in adapted], lr=INNER_LR)
    for task in tasks:
        with higher.innerloop_ctx(
            model,
            inner,
            copy_initial_weights=False,
            override={"lr": rates} if rates else None,
        ) as (fast_model, optimizer):
            for _ in range(STEPS):
                support_loss = LOSSES[loss](fast_model(task.support_x), task.support_y)
                optimizer.step(support_loss, grad_callback=callback)
            query_loss = LOSSES[loss](fast_model(task.query_x), task.query_y)
            (query_loss / len(tasks)).backward()
    torch.optim.SGD(meta_parameters, lr=META_LR).step()
    return [parameter.detach() for parameter in meta_parameters]


def assert_moved_alike(ours: dict[str, Tensor], theirs: list[Tensor], start: list[Tensor]) -> None:
    for (name, mine), reference, before in zip(ours.items(), theirs, start, strict=True):
        at = before.detach()
        assert_close(mine - at, reference - at, 1e-9)
        assert not torch.equal(mine, at), f"{name} did not move"


@pytest.mark.parametrize("first_order", [True, False])
@pytest.mark.parametrize("setting", SETTINGS)
def test_maml(setting, first_order):
    torch.manual_seed(0)
    model, tasks, loss = setting()
    model.double()
    start = copy.deepcopy(list(model.parameters()))
    ours = step_of_ours(MAML(model, INNER_LR, STEPS, first_order, loss), tasks)
    theirs = step_of_higher(model, list(model.parameters()), tasks, loss, first_order)
    assert_moved_alike(ours, theirs, start)


@pytest.mark.parametrize("first_order", [True, False])
@pytest.mark.parametrize("setting", SETTINGS)
def test_anil(setting, first_order):
    torch.manual_seed(0)
    model, tasks, loss = setting()
    model.double()
    start = copy.deepcopy(list(model.parameters()))
    ours = step_of_ours(ANIL(model, INNER_LR, STEPS, first_order, loss), tasks)
    theirs = step_of_higher(model, list(model.head.parameters()), tasks, loss, first_order)
    assert_moved_alike(ours, theirs, start)


@pytest.mark.parametrize("first_order", [True, False])
@pytest.mark.parametrize("setting", SETTINGS)
def test_meta_sgd(setting, first_order):
    torch.manual_seed(0)
    model, tasks, loss = setting()
    learner = MetaSGD(model.double(), INNER_LR, STEPS, first_order, loss)
    rates = list(learner.module.get_submodule("rates").parameters())
    with torch.no_grad():
        for rate in rates:  # a different rate everywhere, some negative
            rate.add_(0.2 * torch.randn_like(rate))
    start = copy.deepcopy([*model.parameters(), *rates])
    ours = step_of_ours(learner, tasks)
    theirs = step_of_higher(model, list(model.parameters()), tasks, loss, first_order, rates)
    assert_moved_alike(ours, theirs, start)


def test_first_and_second_order_differ():
    """So that the comparisons above can tell them apart."""
    torch.manual_seed(0)
    model, tasks, loss = perceptron()
    first, second = (
        step_of_ours(MAML(model.double(), INNER_LR, STEPS, order, loss), tasks)
        for order in (True, False)
    )
    assert not torch.allclose(first["head.weight"], second["head.weight"], atol=1e-4)
