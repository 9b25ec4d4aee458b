"""The active-set method against scipy and against the optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from towpath.control import quadratic
from towpath.control.quadratic import project_simplex, solve

seeded = settings(max_examples=80, deadline=None, derandomize=True)


@pytest.fixture(
    autouse=True, params=[False, True], ids=["from the base", "from a guess"], scope="module"
)
def guessing(request):
    """Small programmes are solved from the base; here they are solved from a guess, too."""
    many = quadratic.MANY
    quadratic.MANY = 0 if request.param else many
    yield request.param
    quadratic.MANY = many


def problem(seed, blocks, M, rank, pull, spread=0.0, on_boundary=False):
    """H of the given rank plus the identity, scaled by 10^(+-spread); a gradient; a base."""
    rng = np.random.default_rng(seed)
    n = blocks * M
    F = rng.normal(size=(rank, n))
    D = 10.0 ** rng.uniform(-spread, spread, n)
    H = D[:, None] * (F.T @ F + np.eye(n)) * D
    w = rng.exponential(size=(blocks, M))
    if on_boundary:  # at least one weight of each block stays
        w[rng.random((blocks, M)) < 0.6] = 0.0
        w[np.arange(blocks), rng.integers(M, size=blocks)] = 1.0
    w /= w.sum(1, keepdims=True)
    g = pull * D * rng.normal(size=n)
    return H, g, w.reshape(-1)


cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "blocks": st.integers(1, 4),
        "M": st.integers(1, 6),
        "rank": st.integers(0, 8),
        "pull": st.sampled_from([0.0, 0.1, 1.0, 10.0, 1000.0]),
        "on_boundary": st.booleans(),
    }
)


def gap(H, g, base, w, block):
    """A bound of f(w) - min f from convexity, relative to the terms that its rounding comes from.

    f(y) >= f(w) + r'(y - w) with the gradient r at w: minimise the right side over feasible y.
    """
    assert float(w.min()) >= 0.0
    r = g + H @ (w - base)
    terms = np.abs(g) + np.abs(H) @ (w + base)
    if block is None:
        # y is no further than twice the way that the steepest coordinate could go
        reach = w + base + np.abs(g) / np.diag(H)
        bound = np.where(r > 0, r * w, -r * reach).sum()
        return bound / (terms @ reach)
    np.testing.assert_allclose(w.reshape(-1, block).sum(1), 1.0, rtol=0, atol=1e-14)
    rows = r.reshape(-1, block)
    bound = (rows * w.reshape(-1, block)).sum() - rows.min(1).sum()
    return bound / terms.reshape(-1, block).max(1).sum()


@seeded
@given(case=cases)
def test_weights_with_bounds_equal_nonnegative_least_squares(case):
    H, g, base = problem(**case)
    w = solve(H, g, base).w
    S = np.linalg.cholesky(H)
    reference, _ = nnls(S.T, S.T @ base - np.linalg.solve(S, g))
    np.testing.assert_allclose(w, reference, rtol=1e-9, atol=1e-9 * max(1.0, reference.max()))


@seeded
@given(case=cases)
def test_weights_on_the_simplex_equal_slsqp(case):
    H, g, base = problem(**{**case, "pull": min(case["pull"], 10.0)})
    M = case["M"]
    w = solve(H, g, base, M).w
    rows = np.kron(np.eye(case["blocks"]), np.ones(M))
    reference = minimize(
        lambda y: (g + 0.5 * H @ (y - base)) @ (y - base),
        base,
        jac=lambda y: g + H @ (y - base),
        bounds=[(0.0, None)] * len(base),
        constraints={"type": "eq", "fun": lambda y: rows @ y - 1.0, "jac": lambda y: rows},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert gap(H, g, base, w, M) <= 1e-12
    np.testing.assert_allclose(w, reference.x, rtol=0, atol=2e-6)


@pytest.mark.parametrize("simplex", [False, True])
@pytest.mark.parametrize("spread", [1.0, 2.0, 4.0])
@seeded
@given(case=cases)
def test_an_ill_scaled_hessian_still_gives_a_certified_minimum(simplex, spread, case):
    H, g, base = problem(**case, spread=spread)
    block = case["M"] if simplex else None
    assert gap(H, g, base, solve(H, g, base, block).w, block) <= 1e-10


@pytest.mark.parametrize("ratio", [1e2, 1e6, 1e9])
@pytest.mark.parametrize("simplex", [False, True])
@seeded
@given(case=cases)
def test_a_weak_prior_still_gives_a_certified_minimum(ratio, simplex, case):
    """A large curvature over beta: low rank plus little."""
    H, g, base = problem(**case)
    H = ratio * (H - np.eye(len(H))) + np.eye(len(H))
    block = case["M"] if simplex else None
    assert gap(H, g, base, solve(H, g, base, block).w, block) <= 1e-9


def test_weights_that_want_to_leave_end_exactly_at_zero():
    w = solve(np.eye(3), np.array([1.0, -1.0, 5.0]), np.full(3, 1 / 3)).w
    np.testing.assert_array_equal(w == 0.0, [True, False, True])
    np.testing.assert_allclose(w[1], 4 / 3, rtol=1e-14)


def test_a_base_on_the_wrong_boundary_is_left():
    base = np.array([0.0, 1.0, 0.0])
    np.testing.assert_allclose(
        solve(np.eye(3), np.array([-2.0, 2.0, 0.0]), base, 3).w, [1.0, 0.0, 0.0], atol=1e-15
    )


def test_the_base_is_not_changed():
    H, g, base = problem(seed=0, blocks=2, M=3, rank=2, pull=10.0)
    before = base.copy()
    solve(H, g, base)
    np.testing.assert_array_equal(base, before)


@seeded
@given(
    seed=st.integers(0, 10**6), M=st.integers(1, 8), size=st.sampled_from([1e-3, 1.0, 30.0, 1e3])
)
def test_the_projection_onto_the_simplex_meets_its_optimality_conditions(seed, M, size):
    rows = size * np.random.default_rng(seed).normal(size=(3, M))
    w = project_simplex(rows)
    np.testing.assert_allclose(w.sum(1), 1.0, atol=1e-12 * size + 1e-14)
    assert float(w.min()) >= 0.0
    for row, weights in zip(rows, w, strict=True):
        shift = (row - weights)[weights > 0]  # one number on the support, nothing above it off it
        np.testing.assert_allclose(shift, shift[0], atol=1e-12 * size)
        assert (row[weights == 0] <= shift[0] + 1e-12 * size).all()


def test_points_of_the_simplex_and_ties_are_projected_as_they_should():
    rows = np.array([[0.2, 0.3, 0.5], [7.0, 7.0, 7.0], [0.0, 0.0, 9.0]])
    np.testing.assert_allclose(
        project_simplex(rows), [[0.2, 0.3, 0.5], [1 / 3] * 3, [0.0, 0.0, 1.0]], atol=1e-15
    )


@pytest.mark.parametrize("ratio", [1e3, 1e6])
@pytest.mark.parametrize("pull", [1e3, 1e6])
@pytest.mark.parametrize("block", [None, 10])
def test_a_hundred_weights_under_a_weak_prior_reach_their_minimum(ratio, pull, block):
    for seed in range(4):
        H, g, base = problem(seed, 10, 10, 30, pull, on_boundary=seed % 2 == 1)
        H = ratio * (H - np.eye(100)) + np.eye(100)
        assert gap(H, g, base, solve(H, g, base, block).w, block) <= 1e-9


@seeded
@given(cases, st.integers(0, 10**6))
def test_held_weights_stay_zero_and_the_others_solve_the_smaller_problem(case, seed):
    H, g, base = problem(**case)
    blocks, M = case["blocks"], case["M"]
    held = np.random.default_rng(seed).random((blocks, M)) < 0.4
    held[held.all(1), 0] = False
    rows = np.where(held, 0.0, base.reshape(blocks, M) + 0.1)
    base = (rows / rows.sum(1, keepdims=True)).reshape(-1)
    solution = solve(H, g, base, M, held.reshape(-1))
    assert solution.finished
    assert not solution.w[held.reshape(-1)].any()
    np.testing.assert_allclose(solution.w.reshape(blocks, M).sum(1), 1.0, rtol=0, atol=1e-14)
    free = ~held.reshape(-1)
    # optimal among the free: at equal marginal cost, or at the bound above it
    r = (g + H @ (solution.w - base)).reshape(blocks, M)
    scale = np.abs(g).max() + np.abs(H).max()
    for row, w, kept in zip(r, solution.w.reshape(blocks, M), ~held, strict=True):
        inside = kept & (w > 0)
        level = row[inside].mean()
        assert np.abs(row[inside] - level).max() <= 1e-9 * scale
        assert (row[kept] >= level - 1e-9 * scale).all()
    assert free.any()


@seeded
@given(cases, st.integers(0, 10**6))
def test_the_projection_onto_a_face_is_that_of_the_other_weights(case, seed):
    rng = np.random.default_rng(seed)
    rows = case["pull"] * rng.normal(size=(case["blocks"], case["M"]))
    held = rng.random(rows.shape) < 0.4
    held[held.all(1), 0] = False
    projected = project_simplex(rows, held)
    for row, mask, found in zip(rows, held, projected, strict=True):
        assert not found[mask].any()
        np.testing.assert_allclose(found[~mask], project_simplex(row[None, ~mask])[0], atol=1e-12)


def test_a_solution_says_where_the_iterations_ran_out(monkeypatch):
    H, g, base = problem(0, 2, 6, 4, 10.0)
    best = solve(H, g, base, 6)
    assert best.finished
    monkeypatch.setattr(quadratic, "PIVOTS", 0)
    monkeypatch.setattr(quadratic, "LIMIT", 2)
    monkeypatch.setattr(quadratic, "LIMIT_A_WEIGHT", 0)
    cut = solve(H, g, base, 6)
    assert not cut.finished

    def value(w):
        return g @ (w - base) + 0.5 * (w - base) @ H @ (w - base)

    assert value(best.w) < value(cut.w) <= 0.0
    np.testing.assert_allclose(cut.w.reshape(2, 6).sum(1), 1.0, atol=1e-14)


@pytest.mark.parametrize("block", [None, 20])
def test_many_weights_take_few_factorisations(monkeypatch, block):
    H, g, base = problem(3, 10, 20, 50, 3.0)
    steps = []
    inner = quadratic._equality_step

    def counted(*given):
        steps.append(1)
        return inner(*given)

    monkeypatch.setattr(quadratic, "_equality_step", counted)
    solution = solve(H, g, base, block)
    bound = int((solution.w == 0).sum())
    assert solution.finished
    assert bound > 60
    assert len(steps) < 20  # one for each weight at the bound, and more, without a guess
    monkeypatch.setattr(quadratic, "MANY", 10**6)
    slow = solve(H, g, base, block)
    assert len(steps) > bound
    np.testing.assert_allclose(solution.w, slow.w, rtol=0, atol=1e-12)


@pytest.mark.parametrize("block", [None, 20])
def test_a_guess_that_is_not_found_leaves_the_work_to_the_active_set(monkeypatch, block):
    H, g, base = problem(4, 10, 20, 50, 3.0)
    best = solve(H, g, base, block)
    monkeypatch.setattr(quadratic, "PIVOTS", 1)
    np.testing.assert_allclose(solve(H, g, base, block).w, best.w, rtol=0, atol=1e-12)


@pytest.mark.parametrize("block", [None, 6])
def test_a_guess_changes_single_weights_where_changing_many_does_not_help(monkeypatch, block):
    monkeypatch.setattr(quadratic, "PATIENCE", 0)
    for seed in range(40):
        H, g, base = problem(seed, 5, 6, 30, 10.0, spread=1.0)
        guess = quadratic._guess(H, g, base, block, np.zeros(30, dtype=bool))
        if guess is not None:
            assert gap(H, g, base, np.maximum(guess, 0.0), block) <= 1e-9
