"""The weights that planning starts from."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

import towpath as tp
from tests.weighters.problems import F64, linear, regression


def test_random_nominals_are_draws_of_a_flat_dirichlet():
    M = 3
    task = (torch.zeros(1, 1, dtype=F64), torch.zeros(1, dtype=F64))
    params = {"w": torch.zeros(1, dtype=F64)}
    objective = tp.Objective.from_function(linear, loss="mse")
    plan = tp.TOW(nominal="random", iterations=0).plan(
        objective, params, tp.SGD(lr=0.1).init(params), [[task] * M] * 400, seed=5
    )
    w = plan.weights.numpy()
    np.testing.assert_allclose(w.sum(1), 1.0)
    for i in range(M):  # the marginals of Dirichlet(1, ..., 1) are Beta(1, M - 1)
        assert stats.kstest(w[:, i], stats.beta(1, M - 1).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(w[:-1, 0], w[1:, 0])[0, 1]) < 0.2, "a new draw each mini-batch"


@pytest.mark.parametrize("bounds", ["project", "simplex", "backtrack"])
def test_from_any_random_nominal_the_plan_is_no_worse(bounds):
    problem = regression(3, 4, seed=2, samples=3)
    for seed in range(4):
        tow = tp.TOW(nominal="random", beta=0.2, bounds=bounds)
        start = problem.plan(replace(tow, iterations=0), seed=seed)
        plan = problem.plan(tow, seed=seed)
        by_hand = problem.value(start.weights, 0.2)
        assert plan.nominal_cost == pytest.approx(by_hand, rel=1e-10)
        assert plan.cost <= plan.nominal_cost
