"""MT-net against its formulas written out: transformed layers, drawn masks, inner steps."""

import pytest
import torch
from torch import Tensor
from torch.func import grad
from torch.nn import functional

from tests.learners.tasks import classification, regression
from tests.oracles.compare import assert_close
from towpath.backbones import MLP, Conv4
from towpath.learners import MTNet

RATE, STEPS, SEED = 0.3, 3, 7
IMAGES = classification((1, 3, 2), shape=(2, 16, 16))
NAMES = [*(f"blocks.{i}.conv" for i in range(4)), "head"]


def learner_and_params(first_order: bool = False, norm: str = "batch", temperature: float = 1.0):
    """An MT-net whose transforms and mask logits are no longer where they started."""
    torch.manual_seed(0)
    model = Conv4(channels=2, ways=3, image_size=16, filters=4, norm=norm).double()
    learner = MTNet(model, RATE, STEPS, first_order, temperature=temperature)
    params = {name: p.detach().clone() for name, p in learner.parameters().items()}
    for name, value in params.items():
        if not name.startswith("model."):
            value.add_(0.3 * torch.randn_like(value))
    return learner, params


def gumbels(params: dict[str, Tensor]) -> dict[str, Tensor]:
    """Gumbel numbers of [zeta, 0] for each layer, by the inverse of their distribution."""
    torch.manual_seed(SEED)
    shapes = {name: (2, len(params[key(f"{name}.weight", "mask_logits")])) for name in NAMES}
    return {
        name: -torch.empty(shape, dtype=torch.float64).exponential_().log()
        for name, shape in shapes.items()
    }


def key(name: str, group: str) -> str:
    return f"{group}.{name.replace('.', '/')}"


def network(weights: dict[str, Tensor], params: dict[str, Tensor], x: Tensor, norm: str) -> Tensor:
    """T(Wx + b) as a layer and a second one on top of it."""
    for i in range(4):
        name = f"blocks.{i}.conv"
        x = functional.conv2d(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"), padding=1)
        x = functional.conv2d(x, params[key(f"{name}.weight", "transforms")][:, :, None, None])
        if norm == "batch":
            scale, shift = (params[f"model.blocks.{i}.norm.{n}"] for n in ("weight", "bias"))
            x = functional.batch_norm(x, None, None, scale, shift, training=True)
        x = functional.max_pool2d(functional.relu(x), 2)
    logits = functional.linear(x.flatten(1), weights["head.weight"], weights["head.bias"])
    return functional.linear(logits, params[key("head.weight", "transforms")])


def by_hand(params, drawn, task, first_order, norm, temperature=1.0) -> Tensor:
    """Query outputs after the inner steps; gradients by torch.func."""
    masks = {}
    for name, g in drawn.items():
        zeta = params[key(f"{name}.weight", "mask_logits")]
        soft = torch.sigmoid((zeta + g[0] - g[1]) / temperature)  # softmax of two is a sigmoid
        hard = (zeta + g[0] > g[1]).to(soft)
        masks[name] = hard + soft - soft.detach()
    weights = {
        f"{name}.{part}": params[f"model.{name}.{part}"]
        for name in NAMES
        for part in ("weight", "bias")
        if f"model.{name}.{part}" in params
    }

    def support_loss(w):
        return functional.cross_entropy(network(w, params, task.support_x, norm), task.support_y)

    for _ in range(STEPS):
        slopes = grad(support_loss)(weights)
        for name, slope in slopes.items():
            slope = slope.detach() if first_order else slope
            m = masks[name.rpartition(".")[0]].reshape(-1, *[1] * (slope.ndim - 1))
            weights[name] = weights[name] - RATE * m * slope
    return network(weights, params, task.query_x, norm)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("norm", ["batch", "none"])
@pytest.mark.parametrize("first_order", [True, False])
def test_outputs_and_all_outer_gradients_equal_the_formulas(first_order, norm, temperature):
    learner, params = learner_and_params(first_order, norm, temperature)
    drawn = gumbels(params)

    def loss_of(outputs: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, IMAGES.query_y)

    leaves = {name: p.clone().requires_grad_() for name, p in params.items()}
    torch.manual_seed(SEED)
    outputs = learner(leaves, IMAGES)
    assert_close(
        outputs.detach(), by_hand(params, drawn, IMAGES, first_order, norm, temperature), 1e-9
    )
    ours = torch.autograd.grad(loss_of(outputs), list(leaves.values()))
    theirs = grad(lambda p: loss_of(by_hand(p, drawn, IMAGES, first_order, norm, temperature)))(
        params
    )
    for name, mine in zip(leaves, ours, strict=True):
        assert_close(mine, theirs[name], 1e-9)
        assert mine.abs().max() > 0, f"{name} has no part in the loss"


@pytest.mark.parametrize(("logit", "probability"), [(0.0, 0.5), (1.0, 0.7310585786)])
def test_a_unit_adapts_with_the_probability_that_its_logit_says(logit, probability):
    learner = MTNet(MLP(4, 3, (8,)).double())
    torch.manual_seed(SEED)
    masks = learner._mask(torch.full((40_000,), logit, dtype=torch.float64))
    assert set(masks.unique().tolist()) == {0.0, 1.0}
    assert abs(float(masks.mean()) - probability) < 5 * 0.0025  # five standard deviations


def test_it_begins_with_the_identity_and_logits_of_zero():
    learner = MTNet(MLP(4, 3, (8,)).double())
    for name, p in learner.parameters().items():
        if name.startswith("transforms"):
            assert torch.equal(p, torch.eye(len(p), dtype=torch.float64))
        elif name.startswith("mask_logits"):
            assert not p.any()
    task = classification((2, 2, 2))
    still = MTNet(learner.model, adaptation_steps=0)
    torch.testing.assert_close(still(learner.parameters(), task), learner.model(task.query_x))


def test_a_mask_is_one_for_all_inner_steps_and_for_weight_and_bias():
    """A unit that does not adapt keeps weight and bias through all steps, any other moves both."""
    torch.manual_seed(0)
    learner = MTNet(MLP(4, 3, (8,), "tanh").double(), inner_lr=0.1, adaptation_steps=4)
    task, found = classification((2, 2, 2)), {}
    real = learner._forward

    def watching(fast, x):
        found.update({name: tensor.detach().clone() for name, tensor in fast.items()})
        return real(fast, x)

    learner._forward = watching  # type: ignore[assignment]
    params = learner.parameters()
    torch.manual_seed(SEED)
    learner(params, task)
    for layer in ("layers.0", "head"):
        weight, bias = (
            found[f"{layer}.{part}"] != params[f"model.{layer}.{part}"]
            for part in ("weight", "bias")
        )
        assert torch.equal(weight.any(1), bias)
        assert 0 < int(bias.sum()) < len(bias)


def test_transforms_masks_and_norms_do_not_adapt():
    learner, params = learner_and_params()
    torch.manual_seed(SEED)
    weights, rates = learner._split(params)
    adapting = {f"{name}.weight" for name in NAMES} | {"head.bias"}
    assert set(rates) == adapting
    assert set(weights) - adapting == {
        *(f"..transform.{name}.weight" for name in NAMES),
        *(f"blocks.{i}.norm.{part}" for i in range(4) for part in ("weight", "bias")),
    }


def test_it_takes_regression_too():
    torch.manual_seed(0)
    learner = MTNet(MLP(4, 2, (8,)).double(), 0.05, 20, loss="mse")
    task = regression(shots=20)
    params = learner.parameters()
    with torch.no_grad():  # nearly every unit adapts
        for name, p in params.items():
            if name.startswith("mask_logits"):
                p.add_(5)
    before = MTNet(learner.model, 0.05, 0, loss="mse")
    losses = [functional.mse_loss(each(params, task), task.query_y) for each in (before, learner)]
    assert losses[1] < losses[0]


def test_a_temperature_of_zero_is_refused():
    with pytest.raises(ValueError, match=r"temperature"):
        MTNet(MLP(4, 3), temperature=0)
