"""Low-rank sweep, diagonal sweep and condensed problem against dense matrices."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import linear_quadratic as dense
from tests.oracles.compare import assert_close
from tests.oracles.low_rank import DenseGain, low_rank_sweep
from towpath.control import (
    Model,
    backward_sweep,
    condensed_sweep,
)
from towpath.control.factor import factorise
from towpath.control.sweep import CostToGo, Sweep

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
    return torch.stack([gain.response(gain.sensed(column)) for column in columns], dim=1)


def dense_value(W, L=None):
    """`W - L L'` (L absent: the diagonal value) with every entry written out."""
    k, _, P = W.shape
    V = torch.zeros(k, P, k, P, dtype=torch.float64)
    for p in range(P):
        V[:, p, :, p] = W[:, :, p]
    L = torch.zeros(k, 0, P, dtype=torch.float64) if L is None else L  # [k, r, P]
    L = L.transpose(1, 2).reshape(k * P, -1)
    return V.reshape(k * P, k * P) - L @ L.T


@pytest.mark.parametrize("value", VALUES)
@seeded
@given(problem=problems, beta=betas)
def test_the_sweep_equals_a_dense_riccati_recursion(value, problem, beta):
    model = dense.random_model(**problem)
    _, _, k, P = model.shape
    c_u = prior_gradient(model, problem["seed"])
    gains, theta = dense.riccati(model, c_u, beta, truncate=value == "diagonal")
    sweep = VALUES[value](model, c_u, beta)
    assert sweep is not None
    assert_close(sweep.theta, theta, 1e-9)
    for t, (ours, reference) in enumerate(zip(sweep.gains, gains, strict=True)):
        assert_close(ours.k, reference.k, 1e-9)
        if t:  # before the first stage nothing deviates
            assert_close(feedback_matrix(ours, k, P), reference.K, 1e-9)


@seeded
@given(problem=problems, beta=betas)
def test_the_low_rank_value_equals_the_dense_one(problem, beta):
    model = dense.random_model(**problem)
    c_u = prior_gradient(model, problem["seed"])
    gains, _ = dense.riccati(model, c_u, beta)
    sweep = low_rank_sweep(model, c_u, beta)
    assert sweep is not None
    for ours, reference in zip(sweep.gains, gains, strict=True):
        assert isinstance(ours, DenseGain)
        assert_close(dense_value(ours.V.W, ours.V.L), reference.V, 1e-9)


@seeded
@given(problem=problems, beta=betas)
def test_the_diagonal_value_of_one_stage_equals_the_dense_one(problem, beta):
    """As it is taken back in place, part by part."""
    model = dense.random_model(**problem)
    c_u, t = prior_gradient(model, problem["seed"]), problem["T"] - 1
    last = tail(model, t)
    ((gain,), _) = dense.riccati(last, c_u[t:], beta, truncate=True)
    M = problem["M"]
    sums = torch.zeros(M, M + 1, dtype=torch.float64)
    ahead = CostToGo(last)
    (sense,) = ahead.back(last.stages[0], sums, first=False)
    factor = factorise(sums[:, :M] + beta * torch.eye(M, dtype=torch.float64))
    assert factor is not None
    ahead.minimise(sense, factor, gain.k)
    assert_close(dense_value(ahead.W), gain.V, 1e-9)
    assert_close(ahead.gradient.v.reshape(-1), gain.v, 1e-9)


@pytest.mark.parametrize("chunk", [1, 4, 5, 11, 12])
@pytest.mark.parametrize("sweep", [backward_sweep, condensed_sweep])
def test_parts_of_a_sweep_do_not_change_its_gains(monkeypatch, sweep, chunk):
    model = dense.random_model(seed=3, T=4, M=3, P=11, k=3, terminal=True)
    c_u = prior_gradient(model, 1)
    whole = sweep(model, c_u, 0.7)
    dz = torch.randn(3, 11, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    responses = [gain.response(gain.sensed(dz)) for gain in whole.gains[1:]]
    monkeypatch.setattr("towpath.control.stage.CHUNK", chunk)
    parts = sweep(model, c_u, 0.7)
    assert_close(parts.theta, whole.theta, 1e-12)
    for ours, reference, K_dz in zip(parts.gains[1:], whole.gains[1:], responses, strict=True):
        assert_close(ours.k, reference.k, 1e-12)
        assert_close(ours.response(ours.sensed(dz)), K_dz, 1e-12)


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
