"""beta of a plan, given or found from the window."""

import pytest
import torch

import towpath as tp
from tests.weighters.problems import F64, regression, start_of


@pytest.mark.parametrize("optimiser", ["momentum", "adam"])
def test_one_beta_a_mini_batch_is_the_largest_gradient_of_each_over_the_spread(optimiser):
    T, M, spread = 3, 4, 0.5
    problem = start_of(regression(T, M, seed=3, samples=4), optimiser)
    u = torch.full((T, M), 1 / M, dtype=F64, requires_grad=True)
    (g0,) = torch.autograd.grad(problem.cost(u, 0.0), u)  # the state cost's, by autograd
    g0 = g0 - g0.mean(1, keepdim=True)
    betas = M * g0.abs().amax(1) / spread
    assert float(betas.max() / betas.min()) > 1.5, "equal betas would prove little"
    tow = tp.TOW(
        beta="auto",
        scale="mini-batch",
        bounds="simplex",
        adjoint="exact",
        shrink="none",
        spread=spread,
        curvature="none",
        iterations=1,
    )
    plan = problem.plan(tow)
    assert plan.beta == pytest.approx(float(betas.max()), rel=1e-8)
    assert plan.history[0].eps == 1.0
    # without curvature the model's best weights are 1/M - g0 / beta_t
    torch.testing.assert_close(plan.weights, 1 / M - g0 / betas[:, None], rtol=0, atol=1e-8)
    prior = 0.5 * float((betas[:, None] * (plan.weights - 1 / M) ** 2).sum())
    assert plan.cost == pytest.approx(problem.value(plan.weights, 0.0) + prior, rel=1e-10)


def test_a_mini_batch_without_influence_does_not_move_on_rounding():
    problem = regression(3, 4, seed=3).without_targets()
    plan = problem.plan(tp.TOW(beta="auto", scale="mini-batch", bounds="simplex"))
    assert torch.equal(plan.weights[-1], torch.full((4,), 0.25, dtype=F64))
    assert float((plan.weights[0] - 0.25).abs().max()) > 1e-3
