"""What every learner promises, on every backbone: purity, predictors, precision, graphs."""

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import towpath as tp
from tests.learners.tasks import classification, regression
from towpath.backbones import MLP, Conv4, ResNet10, ResNet18
from towpath.learners import (
    ABML,
    ANIL,
    LEARNERS,
    MAML,
    BayesianTAML,
    MetaSGD,
    ProtoMAML,
    ProtoNet,
    Ridge,
)
from towpath.losses import loss_of
from towpath.objective.predicted import Predicted

EMBEDDING = {"bayesian-taml", "protonet", "proto-maml", "ridge"}
FAMILY = ["anil", "maml", "meta-sgd"]
INNER_LOOPS = [*FAMILY, "abml", "bayesian-taml", "mt-net", "proto-maml"]
DRAWING = {"abml", "bayesian-taml", "mt-net"}
"""learners that draw random numbers themselves, all of them in `adapt`"""
SAMPLING = {"abml": 5, "bayesian-taml": 1}
"""learners whose outputs have a dimension of draws, with its length"""
BACKBONES = {
    "conv4": lambda ways: Conv4(1, ways, 16, filters=4),
    "conv4-group": lambda ways: Conv4(1, ways, 16, filters=4, norm="group"),
    "resnet10": lambda ways: ResNet10(1, ways, 16, filters=2),
    "resnet18": lambda ways: ResNet18(1, ways, 16, filters=2),
    "mlp": lambda ways: MLP(256, ways, (8,)),
    "running-statistics": lambda ways: nn.Sequential(
        nn.Flatten(), nn.Linear(256, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, ways or 6)
    ),
}
DROPPING = {"resnet10", "resnet18"}
"""backbones with dropout"""
TASK = classification((1, 3, 2), shape=(1, 16, 16))


def build(name: str, backbone: str = "mlp", **options: object):
    torch.manual_seed(0)
    ways = None if name in EMBEDDING else 3
    return LEARNERS[name](BACKBONES[backbone](ways).double(), **options)


def seeded(learner, params, task=TASK) -> Tensor:
    torch.manual_seed(7)
    return learner(params, task)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("name", LEARNERS)
def test_shape_finite_gradients_and_purity(name, backbone):
    learner = build(name, backbone)
    before = copy.deepcopy(learner.module.state_dict())
    params = learner.parameters()
    outputs = seeded(learner, params)
    assert outputs.shape[2:] == ((SAMPLING[name],) if name in SAMPLING else ())
    assert outputs.shape[:2] == (len(TASK.query_y), 3)
    assert outputs.dtype == torch.float64
    torch.manual_seed(7)
    predictor = learner.adapt(params, TASK.support_x, TASK.support_y)
    predicted = Predicted.by(predictor, TASK)
    assert torch.equal(predicted.outputs, outputs)
    loss = predicted.loss()
    gradients = torch.autograd.grad(loss, list(params.values()))
    assert all(gradient.isfinite().all() for gradient in gradients)

    assert torch.equal(seeded(learner, params), outputs)
    if backbone not in DROPPING:  # no draw is left for the query set
        assert torch.equal(predictor(TASK.query_x), outputs)
    after = learner.module.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert all(parameter.grad is None for parameter in learner.module.parameters())


ONE_OUTPUT = {
    "regression": (torch.zeros(3, 1), torch.rand(3, 1)),
    "squeezed regression": (torch.zeros(3), 5 * torch.rand(3) + 1),
    "regression of two": (torch.zeros(3, 2), torch.randn(3, 2) + 2),
    "labels for one output": (torch.zeros(3, 1), torch.zeros(3, dtype=torch.long)),
    "one number": (torch.zeros(()), torch.zeros((), dtype=torch.long)),
}


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_cross_entropy_refuses_what_is_no_classification_and_names_the_remedy(name):
    with pytest.raises(ValueError, match=r"Found .*; expected .*loss='mse'"):
        loss_of("cross_entropy").value(*ONE_OUTPUT[name])


def test_one_output_under_the_default_loss_is_refused_before_anything_is_trained():
    net = nn.Linear(4, 1).double()
    task = regression(outputs=1)
    objectives = [
        tp.Objective(MAML(net)),
        tp.Objective.from_function(lambda p, t: (net(t.query_x), t.query_y)),
        tp.Objective.from_function(lambda p, t: (net(t.query_x), torch.zeros(7).long())),
    ]
    for objective in objectives:
        with pytest.raises(ValueError, match=r"one score a sample.*loss='mse'"):
            objective.evaluate(dict(net.named_parameters()), [task])
    assert (
        tp.Objective(MAML(net, loss="mse"))
        .evaluate(dict(net.named_parameters()), [task])
        .losses.isfinite()
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_the_generator_is_left_alone_by_learners_that_draw_nothing(name):
    learner = build(name, "conv4")
    state = torch.get_rng_state()
    learner(learner.parameters(), TASK)
    assert torch.equal(torch.get_rng_state(), state) == (name not in DRAWING)


@pytest.mark.parametrize("name", LEARNERS)
def test_params_are_used_and_not_the_modules_own(name):
    learner = build(name, "conv4")
    other = copy.deepcopy(learner)
    with torch.no_grad():
        for parameter in other.module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    outputs = seeded(learner, other.parameters())
    assert torch.equal(outputs, seeded(other, other.parameters()))
    assert not torch.allclose(outputs, seeded(learner, learner.parameters()))


class Recomputing(nn.Module):
    """A model whose first layer is computed again in the backward pass."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.first, self.second, self.reentrant = nn.Linear(4, 8), nn.Linear(8, 3), reentrant

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = checkpoint(self.first, x, use_reentrant=self.reentrant)
        return self.second(y.tanh())


@pytest.mark.parametrize(
    ("reentrant", "error", "said"),
    [
        (False, RuntimeError, r"torch\.utils\.checkpoint.*Call that part without checkpoint"),
        pytest.param(
            True,
            ValueError,
            "No task of the mini-batch uses the parameter 'first.bias'",
            marks=pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad"),
        ),
    ],
)
def test_a_model_that_computes_again_with_its_own_weights_is_refused(reentrant, error, said):
    """Its gradients would be those of the module's own weights, and nobody would know."""
    task = classification((2, 2, 2), 3, (4,), seed=0)
    learner = tp.learners.ProtoNet(Recomputing(reentrant).double())
    with pytest.raises(error, match=said):
        tp.Objective(learner).evaluate(learner.parameters(), [task])


@pytest.mark.parametrize("name", LEARNERS)
def test_predictor_gives_the_outputs_and_probabilities(name):
    learner = build(name, "conv4")
    params = learner.parameters()
    outputs = seeded(learner, params)
    torch.manual_seed(7)
    predictor = learner.adapt(params, TASK.support_x, TASK.support_y)
    assert torch.equal(predictor(TASK.query_x), outputs)
    probabilities = predictor.predict(TASK.query_x)
    assert not probabilities.requires_grad
    expected = outputs.detach().softmax(1)
    torch.testing.assert_close(probabilities, expected.mean(-1) if name in SAMPLING else expected)


@pytest.mark.parametrize("backbone", ["conv4", "running-statistics"])
@pytest.mark.parametrize("first_order", [True, False])
@pytest.mark.parametrize("name", INNER_LOOPS)
def test_values_are_the_same_with_and_without_an_outer_graph(name, first_order, backbone):
    learner = build(name, backbone, first_order=first_order)
    params = learner.parameters()
    expected = seeded(learner, params)
    assert expected.requires_grad

    detached = {key: value.detach() for key, value in params.items()}
    without = {"no leaf requires a gradient": seeded(learner, detached)}
    with torch.no_grad():
        without["no_grad"] = seeded(learner, params)
    with torch.inference_mode():
        without["inference_mode"] = seeded(learner, params)
        born_there = copy.deepcopy(TASK).to("cpu", torch.float32).to("cpu", torch.float64)
        assert born_there.support_x.is_inference()
        seeded(learner, params, born_there)
    for where, outputs in without.items():
        assert not outputs.requires_grad, where
        torch.testing.assert_close(outputs, expected.detach(), rtol=1e-12, atol=1e-12, msg=where)


@pytest.mark.parametrize("name", INNER_LOOPS)
def test_predictors_made_without_gradients_carry_no_graph(name):
    learner = build(name, first_order=False)
    with torch.no_grad():
        predictor = learner.adapt(learner.parameters(), TASK.support_x, TASK.support_y)
    assert not predictor(TASK.query_x).requires_grad


@pytest.mark.parametrize("name", FAMILY)
def test_some_params_may_be_frozen(name):
    """Which meta-parameters get a gradient is the caller's choice; all of them still adapt."""
    for first_order in (True, False):
        learner = build(name, first_order=first_order)
        params = {
            key: value if key.endswith("bias") else value.detach()
            for key, value in learner.parameters().items()
        }
        outputs = learner(params, TASK)
        full = learner(learner.parameters(), TASK)
        torch.testing.assert_close(outputs, full)
        keys = [key for key, value in params.items() if value.requires_grad]
        cotangent = torch.ones_like(outputs)
        ours = torch.autograd.grad(outputs, [params[key] for key in keys], cotangent)
        theirs = torch.autograd.grad(full, [learner.parameters()[key] for key in keys], cotangent)
        for mine, reference in zip(ours, theirs, strict=True):
            torch.testing.assert_close(mine, reference)


def nodes(outputs: Tensor, kind: str) -> int:
    """Number of nodes of a kind in the graph behind `outputs`."""
    seen, queue = set(), [outputs.grad_fn]
    while queue:
        node = queue.pop()
        if node is not None and node not in seen:
            seen.add(node)
            queue += [following for following, _ in node.next_functions]
    return sum(kind in node.name() for node in seen)


@pytest.mark.parametrize("name", FAMILY)
def test_first_order_keeps_no_graph_of_a_support_pass(name):
    layers = 2
    first = build(name, adaptation_steps=4)
    assert nodes(first(first.parameters(), TASK), "AddmmBackward") == layers
    second = build(name, adaptation_steps=4, first_order=False)
    assert nodes(second(second.parameters(), TASK), "AddmmBackward") == layers * 5


SMOOTH = classification((1, 3, 2))
SECOND_ORDER = {
    "maml": lambda: MAML(MLP(4, 3, (5,), "tanh"), first_order=False, adaptation_steps=2),
    "maml-mse": lambda: MAML(
        MLP(4, 2, (5,), "tanh"), first_order=False, adaptation_steps=2, loss="mse"
    ),
    "anil": lambda: ANIL(MLP(4, 3, (5,), "tanh"), first_order=False, adaptation_steps=2),
    "meta-sgd": lambda: MetaSGD(MLP(4, 3, (5,), "tanh"), first_order=False, adaptation_steps=2),
    "abml": lambda: ABML(MLP(4, 3, (5,), "tanh"), adaptation_steps=2, initial_sigma=0.1),
    "bayesian-taml": lambda: BayesianTAML(MLP(4, None, (5,), "tanh"), adaptation_steps=2),
    "protonet": lambda: ProtoNet(MLP(4, None, (5,), "tanh")),
    "proto-maml": lambda: ProtoMAML(
        MLP(4, None, (5,), "tanh"), first_order=False, adaptation_steps=2
    ),
    "ridge": lambda: Ridge(MLP(4, None, (5,), "tanh")),
}


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_gradients_and_hessian_products_equal_finite_differences(name):
    torch.manual_seed(0)
    learner = SECOND_ORDER[name]()
    learner.module.double()
    task = SMOOTH if learner.loss.classifies else regression()
    start = {key: value.detach() for key, value in learner.parameters().items()}
    # not along the encoder of Bayesian TAML, whose thousands of ReLUs are not smooth
    direction = {
        key: torch.zeros_like(value) if key.startswith("encoder.") else torch.randn_like(value)
        for key, value in start.items()
    }

    def evaluate(distance: float, create_graph: bool = False):
        params = {
            key: (value + distance * direction[key]).requires_grad_()
            for key, value in start.items()
        }
        torch.manual_seed(7)
        predictor = learner.adapt(params, task.support_x, task.support_y)
        loss = Predicted.by(predictor, task).loss()
        leaves = list(params.values())
        return loss, torch.autograd.grad(loss, leaves, create_graph=create_graph), leaves

    _, gradient, leaves = evaluate(0.0, create_graph=True)
    slope = sum((g * d).sum() for g, d in zip(gradient, direction.values(), strict=True))
    product = torch.autograd.grad(slope, leaves)

    h = 1e-5
    (loss_plus, plus, _), (loss_minus, minus, _) = evaluate(h), evaluate(-h)
    torch.testing.assert_close(
        slope.detach(), ((loss_plus - loss_minus) / (2 * h)).detach(), rtol=1e-6, atol=1e-8
    )
    for exact, right, left in zip(product, plus, minus, strict=True):
        torch.testing.assert_close(exact, (right - left) / (2 * h), rtol=1e-5, atol=1e-7)


def test_double_backward_goes_through_first_order_maml_too():
    """Its query pass has curvature; the inner steps count as constants."""
    learner = build("maml", "conv4")
    params = learner.parameters()
    loss = functional.cross_entropy(learner(params, TASK), TASK.query_y)
    gradients = torch.autograd.grad(loss, list(params.values()), create_graph=True)
    product = torch.autograd.grad(sum(g.square().sum() for g in gradients), list(params.values()))
    assert all(tensor.isfinite().all() for tensor in product)


@pytest.mark.parametrize("name", FAMILY)
def test_regression_improves_with_adaptation(name):
    torch.manual_seed(0)
    task = regression(shots=20)
    losses = []
    for steps in (0, 20):
        torch.manual_seed(0)
        options: dict[str, Any] = {"inner_lr": 0.05, "adaptation_steps": steps, "loss": "mse"}
        learner = LEARNERS[name](MLP(4, 2, (16,)).double(), **options)
        predictor = learner.adapt(learner.parameters(), task.support_x, task.support_y)
        assert torch.equal(predictor.predict(task.query_x), predictor(task.query_x))
        losses.append(functional.mse_loss(predictor(task.query_x), task.query_y).item())
    assert losses[1] < losses[0]


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in DRAWING])
def test_copies_work_in_threads_side_by_side(name):
    learner = build(name, "conv4")
    tasks = [classification((1, 2, 1), shape=(1, 16, 16), seed=seed) for seed in range(6)]
    params = learner.parameters()
    expected = [learner(params, task) for task in tasks]
    copies = [copy.deepcopy(learner) for _ in tasks]
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda each, task: each(params, task), copies, tasks))
    assert all(torch.equal(a, b) for a, b in zip(expected, results, strict=True))


class Tied(nn.Module):
    """Two layers that share one weight, which has one name among the parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.tanh(self.first(x)))


def test_shared_weights_stay_shared_in_the_inner_loop():
    torch.manual_seed(0)
    task = classification((2, 1, 1, 2))
    model = Tied().double()
    learner = MAML(model, adaptation_steps=3, inner_lr=0.3)
    outputs = learner(learner.parameters(), task)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for _ in range(3):
        optimizer.zero_grad()
        functional.cross_entropy(model(task.support_x), task.support_y).backward()
        optimizer.step()
    torch.testing.assert_close(outputs, model(task.query_x))


def test_anil_adapts_the_named_head_only():
    model = MLP(4, 3, (5, 6)).double()
    assert ANIL(model).head_names == ("head.weight", "head.bias")
    assert ANIL(model, head="layers.1").head_names == ("layers.1.weight", "layers.1.bias")
    with pytest.raises(ValueError, match=r"layer 'layer'.*'head', 'layers.0'.*Pass head="):
        ANIL(model, head="layer")
    with pytest.raises(ValueError, match="Found no parameters of a layer ''"):
        ANIL(nn.Linear(4, 3))


def test_meta_sgd_owns_model_and_rates():
    model = MLP(4, 3, (5,))
    learner = MetaSGD(model, inner_lr=0.3)
    names = [name for name, _ in model.named_parameters()]
    assert list(learner.parameters()) == [f"model.{name}" for name in names] + [
        f"rates.{name.replace('.', '/')}" for name in names
    ]
    assert all((rate == 0.3).all() for rate in learner.module.get_submodule("rates").parameters())
    x = torch.rand(2, 4)
    assert torch.equal(learner.module(x), model(x))
    # With every rate equal to inner_lr it is MAML.
    task = classification((1, 2, 1), dtype=torch.float32)
    maml = MAML(model, inner_lr=0.3)
    torch.testing.assert_close(learner(learner.parameters(), task), maml(maml.parameters(), task))


def test_mistakes_are_answered_with_the_remedy():
    model = MLP(4, 3, (5,)).double()
    learner = MAML(model)
    params = learner.parameters()
    with pytest.raises(ValueError, match=r"without \['head.bias'\].*unknown \['bias'\]"):
        learner(
            {**{k: v for k, v in params.items() if k != "head.bias"}, "bias": torch.zeros(1)},
            SMOOTH,
        )
    with pytest.raises(ValueError, match=r"labels 0..3 with 3 outputs; expected labels 0..2"):
        learner(params, classification((1, 1, 1, 1)))
    with pytest.raises(ValueError, match=r"Found torch.float64 targets.*Use loss='mse'"):
        learner(params, regression())
    regressor = MAML(model, loss="mse")
    with pytest.raises(ValueError, match=r"Found outputs of shape \[5, 3\].*shape \[5, 2\]"):
        regressor(params, regression())
    with pytest.raises(ValueError, match=r"torch.int64 targets.*loss='cross_entropy' for labels"):
        regressor(params, SMOOTH)
    with pytest.raises(ValueError, match="Found loss='l1'; expected one of bce, cross_entropy"):
        MAML(model, loss="l1")
    with pytest.raises(ValueError, match="Found inner_lr=-1; expected a positive number"):
        MAML(model, inner_lr=-1)
    with pytest.raises(ValueError, match="Found inner_lr='x'; expected a positive number"):
        MAML(model, inner_lr="x")
    with pytest.raises(ValueError, match="Found adaptation_steps=-2; expected 0 or more"):
        MAML(model, adaptation_steps=-2)


@pytest.mark.parametrize("steps", [2.5, 2.0, True, "2"])
@pytest.mark.parametrize("name", ["adaptation_steps", "test_steps"])
def test_a_number_of_inner_steps_that_is_not_whole_is_refused(name, steps):
    model = MLP(4, 3, (5,))
    with pytest.raises(ValueError, match=rf"Found {name}={steps!r}; expected a whole number"):
        MAML(model, **{name: steps})
    assert MAML(model, **{name: np.int64(2)}).test_steps == 2


def test_registry_names_every_learner():
    assert set(LEARNERS) == {
        *("abml", "anil", "bayesian-taml", "maml", "meta-sgd", "mt-net", "protonet", "proto-maml"),
        "ridge",
    }
