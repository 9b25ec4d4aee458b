"""The condensed problem against dense matrices."""

import pytest
import torch
from hypothesis import given

from tests.control.test_sweep import betas, prior_gradient, problems, seeded, tail
from tests.oracles import linear_quadratic as dense
from tests.oracles.compare import assert_close
from towpath.control import backward_sweep, condense, condensed_sweep, costate_gradient


@seeded
@given(problem=problems)
def test_the_condensed_hessian_equals_the_dense_one(problem):
    model = dense.random_model(**problem)
    whole = condense(model)
    assert_close(whole.H, dense.condensed(model), 1e-12)
    assert_close(whole.g, costate_gradient(model), 1e-12)


@seeded
@given(problem=problems, beta=betas)
def test_the_condensed_problem_gives_the_gains_and_theta_of_the_riccati_recursion(problem, beta):
    model = dense.random_model(**problem)
    T, M, k, P = model.shape
    c_u = prior_gradient(model, problem["seed"])
    gains, theta = dense.riccati(model, c_u, beta)
    dz = prior_gradient(dense.random_model(0, 1, k * P, 1, 1, False), problem["seed"] + 1)[0]
    for t in range(T):
        rest = tail(model, t)
        H = condense(rest).H + beta * torch.eye((T - t) * M, dtype=torch.float64)
        g = (costate_gradient(rest) + c_u[t:]).reshape(-1)
        d = -torch.linalg.solve(H, g)
        assert_close(d[:M], gains[t].k, 1e-9)
        # feedback: the costate gradient of what a deviation dz costs further on
        after = torch.linalg.solve(H, deviation_gradient(rest, dz))[:M]
        assert_close(-after, gains[t].K @ dz, 1e-9)
        if t == 0:
            assert_close(float(g @ d), theta, 1e-9)


def deviation_gradient(model, dz):
    """b_s = F_u,s' W_{s+1} F_x,s ... F_x,1 dz for all stages s, dense."""
    stages = dense.dense_stages(model)
    _, W = dense.dense_end(model)
    weights = []
    for stage in reversed(stages):
        weights.append(W)
        W = stage.C_xx + stage.F_x.T @ W @ stage.F_x
    rows = []
    for stage, W in zip(stages, reversed(weights), strict=True):
        dz = stage.F_x @ dz
        rows.append(stage.F_u.T @ W @ dz)
    return torch.cat(rows)


@pytest.mark.parametrize("chunk", [1, 4, 5, 11, 12])
@pytest.mark.parametrize("k", [1, 3])
def test_chunks_of_coordinates_do_not_change_the_condensed_problem(monkeypatch, chunk, k):
    model = dense.random_model(seed=3, T=3, M=2, P=11, k=k, terminal=True)
    gradient = costate_gradient(model)
    monkeypatch.setattr("towpath.control.stage.CHUNK", chunk)
    assert_close(condense(model).H, dense.condensed(model), 1e-12)
    assert_close(condense(model).g, gradient, 1e-12)
    assert_close(costate_gradient(model), gradient, 1e-12)


def test_a_part_without_coordinates_has_no_share_in_anything():
    """As a rank has it if there are more ranks than coordinates."""
    model = dense.random_model(seed=3, T=3, M=2, P=0, k=3, terminal=True)
    zero = torch.zeros(3, 2, dtype=torch.float64)
    assert not condense(model).H.any()
    assert torch.equal(costate_gradient(model), zero)
    for sweep in (backward_sweep, condensed_sweep):
        found = sweep(model, zero, 1.0)
        assert found is not None
        assert found.theta == 0.0
