"""Hutchinson's diagonal and Hessian products against the dense Hessian."""

import pytest
import torch

import towpath as tp
from tests.curvature.tasks import functions, plain
from tests.curvature.test_gauss_newton import KINDS, LOSSES, diagonals
from tests.oracles.compare import assert_close, largest_error
from tests.oracles.curvature import loss_hessian
from tests.oracles.training import P, parameters, random_tasks


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("first")])
def test_the_product_equals_that_of_the_dense_hessian(kind, loss):
    fn = functions(loss)[kind]
    (tasks,) = random_tasks(0, 3, loss=loss)
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(3, generator=generator, dtype=torch.float64)
    y = torch.randn(P, generator=generator, dtype=torch.float64)
    objective = tp.Objective.from_function(fn, loss=loss)
    dense = sum(
        w * loss_hessian(fn, parameters(), task, loss)
        for w, task in zip(weights, tasks, strict=True)
    )
    assert_close(objective.product(parameters(), tasks, weights, y), dense @ y, 1e-12)


def test_the_product_is_zero_where_the_gradient_is_constant():
    objective = tp.Objective.from_function(lambda p, task: (0.0 * p["w"] ** 0, task), loss="mse")
    y = torch.ones(2, dtype=torch.float64)
    result = objective.product({"w": y.clone()}, [torch.zeros(2).double()], y[:1], y)
    assert torch.equal(result, torch.zeros(2, dtype=torch.float64))


@pytest.mark.parametrize("loss", LOSSES)
def test_hutchinson_is_unbiased(loss):
    ((task,),) = random_tasks(0, 1, loss=loss)
    reference = loss_hessian(plain, parameters(), task, loss).diagonal()
    draws = torch.stack(
        [
            diagonals(plain, loss, [task], "hutchinson", seed=1000 * s, probes=64)[0]
            for s in range(12)
        ]
    )
    # a coordinate whose row has no other entry is exact in every draw
    deviation = (draws.mean(0) - reference) / (draws.std(0) / 12**0.5).clamp_min(1e-14)
    assert float(deviation.abs().max()) < 6.0
    assert largest_error(draws.mean(0), reference) < 0.12


def test_hutchinson_is_exact_where_the_hessian_is_diagonal():
    def fn(params, task):
        return params["w"] ** 3, task

    w = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    task = torch.ones(3, dtype=torch.float64)
    (h,) = diagonals(fn, "mse", [task], "hutchinson", params={"w": w})
    # d2/dw2 mean((w^3 - 1)^2) = (30 w^4 - 12 w) / 3: negative curvature is kept
    assert_close(h, (30 * w**4 - 12 * w) / 3, 1e-14)
    assert float(h[0]) < 0
