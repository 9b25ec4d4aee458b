"""The ridge-regression head against least squares solved by scipy and numpy, in float64."""

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call
from torch.nn import functional

import towpath as tp
from tests.learners.tasks import classification, regression
from tests.oracles.compare import assert_close
from tests.oracles.curvature import gauss_newton
from towpath.backbones import MLP
from towpath.learners import Ridge
from towpath.learners.ridge import solved
from towpath.objective import Curvature


def learner_of(width: int = 5, regulariser: float = 0.7, scale: float = 3.0) -> Ridge:
    torch.manual_seed(0)
    learner = Ridge(MLP(4, None, (6, width), "tanh").double(), regulariser, scale)
    with torch.no_grad():
        learner.module.get_parameter("bias").fill_(0.25)
    return learner


def by_least_squares(X: np.ndarray, Y: np.ndarray, regulariser: float) -> np.ndarray:
    """The same minimum as an ordinary least-squares problem, solved by an SVD:
    rows `sqrt(lambda) I` with the target 0 are the penalty."""
    D = X.shape[1]
    A = np.concatenate([X, np.sqrt(regulariser) * np.eye(D)])
    B = np.concatenate([Y, np.zeros((D, Y.shape[1]))])
    return scipy.linalg.lstsq(A, B)[0]


@settings(max_examples=30, deadline=None)
@given(
    samples=st.integers(1, 12),
    length=st.integers(1, 12),
    regulariser=st.floats(0.01, 100.0),
    seed=st.integers(0, 99),
)
def test_both_forms_of_the_solution_are_the_least_squares_one(samples, length, regulariser, seed):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(samples, length, generator=generator, dtype=torch.float64)
    Y = torch.randn(samples, 3, generator=generator, dtype=torch.float64)
    ours = solved(X, Y, torch.tensor(regulariser, dtype=torch.float64))
    assert_close(ours, torch.from_numpy(by_least_squares(X.numpy(), Y.numpy(), regulariser)), 1e-9)


@pytest.mark.parametrize("shots", [(1, 1, 1), (1, 3, 2), (5, 5, 5)])  # 3, 6, 15 samples; D + 1 = 6
def test_the_logits_are_those_of_the_formula_with_the_bias_column_and_the_learned_numbers(shots):
    learner, task = learner_of(), classification(shots)
    model = learner.model
    with torch.no_grad():
        support, query = (
            np.column_stack([model(x).numpy(), np.ones(len(x))])
            for x in (task.support_x, task.query_x)
        )
    Y = np.eye(3)[task.support_y.numpy()] / np.sqrt(len(task.support_y))
    expected = 3.0 * query @ by_least_squares(support, Y, 0.7) + 0.25
    assert_close(learner(learner.parameters(), task).detach(), torch.from_numpy(expected), 1e-9)


BODY = MLP(4, None, (6, 5), "tanh").double()


def written_out(params, task):
    """The learner with an explicit inverse of the D x D matrix, whatever the number of samples."""
    body = {n.removeprefix("model."): p for n, p in params.items() if n.startswith("model.")}

    def embedded(x):
        z = functional_call(BODY, body, (x,))
        return torch.cat([z, torch.ones(len(z), 1, dtype=z.dtype)], 1)

    X = embedded(task.support_x)
    Y = functional.one_hot(task.support_y).to(X.dtype) / len(X) ** 0.5
    inverse = torch.linalg.inv(X.T @ X + params["log_lambda"].exp() * torch.eye(6).to(X.dtype))
    logits = params["scale"] * (embedded(task.query_x) @ (inverse @ X.T @ Y)) + params["bias"]
    return logits, task.query_y


@pytest.mark.parametrize("shots", [(1, 1, 1), (1, 3, 2), (5, 5, 5)])
def test_loss_gradient_and_gauss_newton_equal_autograd_and_the_dense_matrix(shots):
    learner, task = learner_of(), classification(shots)
    params = learner.parameters()
    found = tp.Objective(learner).evaluate(
        params,
        [task],
        gradients=True,
        curvature=Curvature("gauss-newton-exact", torch.ones(1, 1, dtype=torch.float64)),
    )
    logits, target = written_out(params, task)
    loss = functional.cross_entropy(logits, target)
    gradient = torch.autograd.grad(loss, list(params.values()))
    flat = torch.cat([g.reshape(-1) for g in gradient])
    assert_close(found.losses[0], loss.detach(), 1e-9)
    assert_close(found.gradients[0], flat, 1e-9)
    dense = gauss_newton(written_out, params, task, "cross_entropy").diagonal()
    assert found.curvature is not None
    assert_close(found.curvature[0], dense, 1e-9)
    learned = dict(zip(params, gradient, strict=True))
    assert learned["log_lambda"].abs() > 1e-6
    assert learned["scale"].abs() > 1e-6


def test_a_plan_trains_embedding_and_regression_together():
    learner = learner_of()
    optimizer = torch.optim.Adam(learner.module.parameters(), lr=0.05)
    window = [[classification((1, 2, 2), seed=10 * t + i) for i in range(3)] for t in range(3)]
    objective = tp.Objective(learner)
    before = {name: p.detach().clone() for name, p in learner.parameters().items()}
    plan = tp.TOW.fast().plan(objective, learner.module, optimizer, window)
    plan.apply_(learner.module, optimizer)
    moved = {n for n, p in learner.parameters().items() if not torch.equal(p, before[n])}
    assert moved >= {"log_lambda", "scale", "model.layers.0.weight"}


def test_features_are_the_embedding():
    learner = learner_of()
    x = torch.randn(3, 4, dtype=torch.float64)
    features = learner.features(learner.parameters(), x)
    assert torch.equal(features, learner.model(x))


def test_the_learned_numbers_are_where_the_network_is_and_of_its_precision():
    learner = Ridge(MLP(4, None, (5,)).to("meta", torch.float16))
    for name in ("log_lambda", "scale", "bias"):
        number = learner.module.get_parameter(name)
        assert (number.device.type, number.dtype) == ("meta", torch.float16)


def test_the_names_that_stand_in_checkpoints_keep_their_order():
    names = list(Ridge(MLP(4, None, (5,))).parameters())
    of_model = ["model.layers.0.weight", "model.layers.0.bias"]
    assert names == ["log_lambda", "scale", "bias", *of_model]


def test_mistakes_are_answered_with_the_remedy():
    learner = learner_of()
    params = learner.parameters()
    task = classification((1, 2, 1))
    present = task.support_y != 1
    with pytest.raises(ValueError, match=r"no support sample of the classes \[1\].*Relabel"):
        learner.adapt(params, task.support_x[present], task.support_y[present])
    with pytest.raises(ValueError, match=r"float64 support targets; expected integer labels"):
        learner(params, regression())
    with pytest.raises(ValueError, match="Found regulariser=0; expected a positive number"):
        Ridge(nn.Identity(), regulariser=0)
