"""Low-rank sweep, diagonal sweep and condensed problem against dense matrices."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import linear_quadratic as dense
from tests.oracles.compare import assert_close
from tests.oracles.low_rank import low_rank_sweep
from towpath.control import (
    Model,
    backward_sweep,
    condensed,
    condensed_hessian,
    condensed_sweep,
    costate_gradient,
)
from towpath.control.sweep import Sweep

VALUES: dict[str, Callable[..., Sweep | None]] = {
    "diagonal": backward_sweep,
    "exact": low_rank_sweep,
}
problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "T": st.integers(1, 5),
        "M": st.integers(1, 5),
        "P": st.integers(1, 6),
        "k": st.sampled_from([1, 2, 3]),
        "terminal": st.booleans(),
    }
)
betas = st.floats(-2, 2).map(lambda exponent: 10.0**exponent)
seeded = settings(max_examples=60, deadline=None, derandomize=True)


def prior_gradient(model, seed):
    T, M, _, _ = model.shape
    return torch.randn(T, M, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def tail(model, t):
    return Model(model.stages[t:], model.terminal)


def feedback_matrix(gain, k, P):
    """K `[M, kP]`, column by column."""
    columns = torch.eye(k * P, dtype=torch.float64).reshape(k * P, k, P)
    return torch.stack([gain.feedback(column) for column in columns], dim=1)


def dense_value(value):
    """`W - L L'` (L absent: the diagonal value) with every entry written out."""
    k, _, P = value.W.shape
    V = torch.zeros(k, P, k, P, dtype=torch.float64)
    for p in range(P):
        V[:, p, :, p] = value.W[:, :, p]
    L = getattr(value, "L", torch.zeros(k, 0, P, dtype=torch.float64))  # [k, r, P]
    L = L.transpose(1, 2).reshape(k * P, -1)
    return V.reshape(k * P, k * P) - L @ L.T


@pytest.mark.parametrize("value", VALUES)
@seeded
@given(problem=problems, beta=betas)
def test_the_sweep_equals_a_dense_riccati_recursion(value, problem, beta):
    model = dense.random_model(**problem)
    T, _, k, P = model.shape
    c_u = prior_gradient(model, problem["seed"])
    gains, theta = dense.riccati(model, c_u, beta, truncate=value == "diagonal")
    sweep = VALUES[value](model, c_u, beta)
    assert sweep is not None
    assert_close(sweep.theta, theta, 1e-9)
    for ours, reference in zip(sweep.gains, gains, strict=True):
        assert_close(ours.k, reference.k, 1e-9)
        assert_close(feedback_matrix(ours, k, P), reference.K, 1e-9)
    for t in range(T - 1):  # a sweep keeps the value at its second stage
        last = VALUES[value](tail(model, t), c_u[t:], beta)
        assert last is not None
        assert_close(dense_value(last.value_at_second_stage), gains[t + 1].V, 1e-9)


@seeded
@given(problem=problems, beta=betas)
def test_the_condensed_sweep_equals_a_dense_riccati_recursion(problem, beta):
    model = dense.random_model(**problem)
    T, _, k, P = model.shape
    c_u = prior_gradient(model, problem["seed"])
    # a beta for each stage, as with scale="mini-batch"
    precisions = beta * (1.0 + torch.arange(T, dtype=torch.float64))
    gains, theta = dense.riccati(model, c_u, precisions)
    sweep = condensed_sweep(model, c_u, precisions)
    assert sweep is not None
    assert_close(sweep.theta, theta, 1e-9)
    for t, (ours, reference) in enumerate(zip(sweep.gains, gains, strict=True)):
        assert_close(ours.k, reference.k, 1e-9)
        if t:  # before the first stage nothing deviates
            assert_close(feedback_matrix(ours, k, P), reference.K, 1e-9)
    low_rank = low_rank_sweep(model, c_u, precisions)
    assert low_rank is not None
    assert_close(sweep.largest_eigenvalue, low_rank.largest_eigenvalue, 1e-9)
    assert_close(sweep.largest_gradient, low_rank.largest_gradient, 1e-9)


@seeded
@given(problem=problems)
def test_the_condensed_hessian_equals_the_dense_one(problem):
    model = dense.random_model(**problem)
    assert_close(condensed_hessian(model), dense.condensed(model), 1e-12)


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
        H = condensed_hessian(rest) + beta * torch.eye((T - t) * M, dtype=torch.float64)
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
def test_chunks_of_coordinates_do_not_change_the_condensed_hessian(monkeypatch, chunk, k):
    monkeypatch.setattr(condensed, "CHUNK", chunk)
    model = dense.random_model(seed=3, T=3, M=2, P=11, k=k, terminal=True)
    assert_close(condensed_hessian(model), dense.condensed(model), 1e-12)


def test_the_reported_eigenvalue_is_the_largest_of_all_stages():
    model = dense.random_model(seed=1, T=3, M=4, P=5, k=1, terminal=True)
    c_u = prior_gradient(model, 0)
    gains, _ = dense.riccati(model, c_u, 0.7)
    after = [gain.V for gain in gains[1:]] + [dense.dense_end(model)[1]]
    largest = max(
        float(torch.linalg.eigvalsh(s.F_u.T @ V @ s.F_u)[-1])
        for s, V in zip(dense.dense_stages(model), after, strict=True)
    )
    for sweep in (low_rank_sweep(model, c_u, 0.7), condensed_sweep(model, c_u, 0.7)):
        assert sweep is not None
        assert_close(sweep.largest_eigenvalue, largest, 1e-12)
