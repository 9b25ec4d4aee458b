"""The theorem's functions against hand-computed values, and its inequalities as properties.

What the paper states and does not hold is kept here as a counterexample, each with its reason.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.theory import (
    Bound,
    OutsideTheoryError,
    adapted_smoothness,
    cross_entropy_constants,
    gradient_sigma,
    largest_learning_rate,
    reasons_outside,
    smallest_epsilon_0,
    squared_error_constants,
    weight_deviation,
    weight_sum_bound,
    weighted_sigma,
)

SEEDS = st.integers(0, 2**32 - 1)
SLACK = 1e-9


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


# --- hand-computed values -----------------------------------------------------------------------


def test_functions_match_hand_computed_values():
    assert adapted_smoothness(2.0, 0.5, 3.0, 4.0) == 2 * (1 + 1) ** 2 + 0.5 * 3 * 4  # 14
    assert gradient_sigma(3.0) == 6.0
    assert gradient_sigma(3.0, inner_lr=0.5, smoothness=2.0) == 12.0
    assert weighted_sigma(6.0, 0.25, 16) == 6 * (0.25 + 0.25)
    assert weight_sum_bound(0.25, 16) == 2.0
    assert largest_learning_rate(14.0, 0.25, 16) == pytest.approx(1 / 14)
    assert weight_deviation([[0.25] * 4, [0.5, 0.5, 0.0, 0.0]]) == pytest.approx(0.5)
    assert smallest_epsilon_0(0.1, 2.0, 0.25, 16) == pytest.approx(40.0)


def test_the_bound_matches_hand_computed_values():
    # alpha 0.05, S~ 14, delta sqrt(M) + 1 = 2: denominator 0.05 (2 - 1.4) = 0.03
    bound = Bound(0.05, 14.0, 6.0, 2.0, 0.25, 16, initial_loss=1.5)
    assert bound.epsilon_0 == pytest.approx((4 * 0.25 * 2 * 4 + 0.0025 * 9 * 14 * 2) / 0.03)
    assert bound.kappa == pytest.approx(3 / 0.03)
    assert bound.after(10) == pytest.approx(bound.epsilon_0 + 10.0)
    assert bound.epsilon_0 >= smallest_epsilon_0(0.05, 2.0, 0.25, 16)


def test_the_table_of_constants_matches_hand_computed_values():
    A, y = np.array([[3.0, 0.0], [0.0, 1.0]]), np.array([1.0, 2.0])
    squared = squared_error_constants(A, y, radius=2.0)
    assert squared.lipschitz == pytest.approx(2 * (2 * 9 + math.hypot(3, 2)))
    assert (squared.smoothness, squared.hessian_lipschitz) == (pytest.approx(18.0), 0.0)
    entropy = cross_entropy_constants(A)
    assert entropy.lipschitz == pytest.approx(math.sqrt(2) * 3)  # below the paper's 2 * 4
    assert entropy.smoothness == pytest.approx(4.5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Bound(0.2, 14.0, 6.0, 2.0, 0.25, 16, 1.5), "lower the learning rate"),
        (lambda: Bound(0.05, 14.0, 6.0, 2.0, 0.25, 16, -1.0), "initial_loss is -1.0"),
        (lambda: Bound(0.05, 14.0, 6.0, 2.0, 0.25, 16, 1.0).after(0), "steps is 0"),
        (lambda: adapted_smoothness(0.0, 0.1, 1.0, 1.0), "smoothness is 0.0"),
        (lambda: adapted_smoothness(1.0, -0.1, 1.0, 1.0), "inner_lr is -0.1"),
        (lambda: weighted_sigma(math.nan, 0.1, 4), "sigma is nan"),
        (lambda: weighted_sigma(1.0, 0.1, 0), "tasks is 0"),
        (lambda: largest_learning_rate(math.inf, 0.0, 4), "adapted is inf"),
        (lambda: weight_deviation([[]]), "no weights"),
        (lambda: weight_deviation([[math.nan, 1.0]]), "not finite"),
        (lambda: squared_error_constants(np.zeros(3), np.zeros(3), 1.0), "shape"),
        (lambda: cross_entropy_constants(np.zeros(3)), "shape"),
    ],
)
def test_numbers_outside_the_assumptions_are_refused(call, says):
    with pytest.raises(OutsideTheoryError, match=says):
        call()


def test_a_run_outside_the_theorem_says_why():
    inside = {
        "optimizer": "sgd",
        "momentum": 0.0,
        "weight_decay": 0.0,
        "learner": "maml",
        "adaptation_steps": 1,
        "first_order": False,
        "targets": False,
        "fresh_tasks": False,
    }
    assert reasons_outside(**inside) == []
    for change, word in (
        ({"optimizer": "adam"}, "adam"),
        ({"momentum": 0.9}, "momentum"),
        ({"learner": "protonet"}, "protonet"),
        ({"adaptation_steps": 5}, "5 inner steps"),
        ({"first_order": True}, "first-order"),
        ({"targets": True}, "trusted"),
        ({"fresh_tasks": True}, "same M tasks"),
        ({"plain_steps": False}, "clipped"),
    ):
        reasons = reasons_outside(**(inside | change))
        assert len(reasons) == 1
        assert word in reasons[0]


# --- inequalities of the appendix ---------------------------------------------------------------


@given(SEEDS, st.integers(1, 12), st.floats(0, 3))
def test_corollary_on_weights_near_uniform(seed, M, scale):
    rng = np.random.default_rng(seed)
    u = 1 / M + scale * rng.normal(size=(2, M))
    delta = weight_deviation(u.tolist())
    assert np.linalg.norm(u[0] - u[1]) <= 2 * delta + SLACK
    assert np.linalg.norm(u, axis=1).max() <= delta + M**-0.5 + SLACK
    assert u.sum(1).max() <= weight_sum_bound(delta, M) + SLACK


@given(SEEDS, st.integers(2, 30), st.integers(1, 5))
def test_lemma_variance_of_a_bounded_gradient(seed, samples, P):
    gradients = np.random.default_rng(seed).normal(size=(samples, P))
    L = float(np.linalg.norm(gradients, axis=1).max())
    variance = np.square(gradients - gradients.mean(0)).sum(1).mean()
    assert variance <= gradient_sigma(L) ** 2 + SLACK


@given(SEEDS, st.integers(1, 8))
def test_lemma_variance_of_the_weighted_loss(seed, M):
    """Independent tasks whose gradient is +-sigma: the variance of the sum is sum u^2 sigma^2."""
    rng = np.random.default_rng(seed)
    u, sigma = rng.dirichlet(np.ones(M)), 1.7
    delta = weight_deviation([u.tolist()])
    assert np.square(u).sum() * sigma**2 <= weighted_sigma(sigma, delta, M) ** 2 + SLACK


@given(SEEDS, st.integers(1, 6))
def test_variance_of_a_sum_of_dependent_terms(seed, n):
    X = np.random.default_rng(seed).normal(size=(50, n)) @ np.ones((n, n))
    assert X.sum(1).var() <= n * X.var(0).sum() * (1 + SLACK)


@given(SEEDS, st.integers(1, 5))
def test_lemmas_on_eigenvalues(seed, n):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    A = root @ root.T
    shifted = np.linalg.eigvalsh(A - np.eye(n))
    assert shifted == pytest.approx(np.linalg.eigvalsh(A) - 1, abs=1e-9)
    x = rng.normal(size=n)
    largest = np.linalg.eigvalsh(A)[-1]
    assert np.linalg.norm(A @ x) <= largest * np.linalg.norm(x) * (1 + SLACK)
    gamma, S = 0.7, float(np.abs(np.linalg.eigvalsh(A)).max())
    assert np.linalg.norm(np.eye(n) - gamma * A, 2) <= 1 + gamma * S + SLACK


class Cosine:
    """A smooth bounded loss in one parameter: a (1 + cos(w x + phase)) / 2."""

    def __init__(self, a, w, phase):
        self.a, self.w, self.phase = a, w, phase
        self.bound, self.L, self.S, self.rho = a, a * w / 2, a * w**2 / 2, a * w**3 / 2

    def value(self, x):
        return self.a * (1 + np.cos(self.w * x + self.phase)) / 2

    def gradient(self, x):
        return -self.L * np.sin(self.w * x + self.phase)

    def hessian(self, x):
        return -self.S * np.cos(self.w * x + self.phase)


class Adapted:
    """The query loss after one inner step on the support loss."""

    def __init__(self, support, query, gamma):
        self.support, self.query, self.gamma = support, query, gamma
        S, L, rho = (max(getattr(support, k), getattr(query, k)) for k in ("S", "L", "rho"))
        self.L, self.S, self.bound = L, S, query.bound
        self.smooth = adapted_smoothness(S, gamma, rho, L)

    def phi(self, x):
        return x - self.gamma * self.support.gradient(x)

    def value(self, x):
        return self.query.value(self.phi(x))

    def gradient(self, x):
        return (1 - self.gamma * self.support.hessian(x)) * self.query.gradient(self.phi(x))


@given(
    st.floats(0.1, 3), st.floats(0.1, 3), st.floats(0, 6.3), st.floats(0, 6.3), st.floats(0, 2),
    st.floats(-5, 5), st.floats(-5, 5),
)  # fmt: skip
def test_lemma_smoothness_after_one_inner_step(a, w, p, q, gamma, x1, x2):
    task = Adapted(Cosine(a, w, p), Cosine(a, w, q), gamma)
    assert abs(task.gradient(x1) - task.gradient(x2)) <= task.smooth * abs(x1 - x2) + SLACK
    assert abs(task.gradient(x1)) <= (1 + gamma * task.S) * task.L + SLACK


@given(SEEDS, st.integers(1, 4), st.integers(1, 4))
def test_constants_of_squared_error_hold(seed, C, P):
    rng = np.random.default_rng(seed)
    A, y = rng.normal(size=(C, P)), rng.normal(size=C)
    x1, x2 = rng.normal(size=(2, P))
    known = squared_error_constants(A, y, float(max(np.linalg.norm(x1), np.linalg.norm(x2))))
    away = np.linalg.norm(x1 - x2)
    values = [np.square(A @ x - y).sum() for x in (x1, x2)]
    assert abs(values[0] - values[1]) <= known.lipschitz * away + SLACK
    gap = np.linalg.norm(2 * A.T @ (A @ (x1 - x2)))
    assert gap <= known.smoothness * away * (1 + SLACK) + SLACK


@given(SEEDS, st.integers(2, 5), st.integers(1, 4), st.floats(0.1, 4))
def test_constants_of_cross_entropy_hold(seed, C, P, scale):
    rng = np.random.default_rng(seed)
    A, y = scale * rng.normal(size=(C, P)), np.eye(C)[rng.integers(C)]
    x1, x2 = rng.normal(size=(2, P))
    known, away = cross_entropy_constants(A), np.linalg.norm(x1 - x2)
    p1, p2 = softmax(A @ x1), softmax(A @ x2)
    assert np.linalg.norm(A.T @ (p1 - y)) <= known.lipschitz + SLACK
    assert np.linalg.norm(A.T @ (p1 - y)) <= 2 * np.abs(A).sum() + SLACK  # the paper's L
    assert np.linalg.norm(A.T @ (p1 - p2)) <= known.smoothness * away + SLACK
    H1, H2 = (A.T @ (np.diag(p) - np.outer(p, p)) @ A for p in (p1, p2))
    assert np.linalg.norm(H1 - H2, 2) <= known.hessian_lipschitz * away + SLACK


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 4), st.floats(0.0, 0.3), st.floats(0.05, 0.95), st.integers(5, 60))
def test_sgd_on_a_bounded_problem_stays_under_the_bound(seed, M, spread, part, steps):
    """The same M tasks every step, query samples drawn at random, weights near uniform."""
    rng = np.random.default_rng(seed)
    gamma = 0.3
    phases = rng.uniform(0, 6.28, size=(M, 2))
    pairs = [
        [Adapted(Cosine(1, 1, 0.3), Cosine(1, 1, phase), gamma) for phase in row] for row in phases
    ]
    u = 1 / M + rng.uniform(-spread, spread, size=(steps, M)) / M
    delta = weight_deviation(u.tolist())
    smooth, L, S = pairs[0][0].smooth, pairs[0][0].L, pairs[0][0].S
    alpha = part * largest_learning_rate(smooth, delta, M)
    x, norms = float(rng.normal()), []
    initial = float(u[0] @ [np.mean([s.value(x) for s in row]) for row in pairs])
    for weights in u:
        true = [np.mean([s.gradient(x) for s in row]) for row in pairs]
        norms.append(float(weights @ true) ** 2)
        drawn = [row[rng.integers(2)].gradient(x) for row in pairs]
        x -= alpha * float(weights @ drawn)
    sigma = gradient_sigma(L, inner_lr=gamma, smoothness=S)
    bound = Bound(alpha, smooth, sigma, 1.0, delta, M, initial)
    assert np.mean(norms) <= bound.after(steps)


# --- counterexamples: what the paper writes and does not hold -----------------------------------


def test_counterexample_sigma_is_not_2L_after_an_inner_step():
    """The variance lemma takes 2L for the adapted loss; the outer gradient is (I - gamma H) times
    the gradient at the adapted parameters. Support at its maximum (gradient 0, Hessian -S), query
    gradients +L and -L: variance (1 + gamma S)^2 L^2, above 4 L^2 once gamma S > 1."""
    gamma = 6.0  # gamma S = 3
    support = Cosine(1, 1, 0.0)
    tasks = [Adapted(support, Cosine(1, 1, sign * math.pi / 2), gamma) for sign in (1, -1)]
    gradients = np.array([task.gradient(0.0) for task in tasks])
    L, S = tasks[0].L, tasks[0].S
    assert gradients.var() == pytest.approx((1 + gamma * S) ** 2 * L**2)
    assert gradients.var() > gradient_sigma(L) ** 2
    assert gradients.var() <= gradient_sigma(L, inner_lr=gamma, smoothness=S) ** 2


def test_counterexample_one_minus_gamma_hessian_need_not_be_positive():
    """The smoothness lemma calls I - gamma H positive semi-definite and takes its largest
    eigenvalue for its norm. With gamma S = 3 it is -2: the norm is 2. What it concludes,
    |I - gamma H| <= 1 + gamma S, holds all the same."""
    matrix = np.eye(1) - 1.0 * np.array([[3.0]])
    assert np.linalg.eigvalsh(matrix)[-1] == -2.0
    assert np.linalg.norm(matrix, 2) == 2.0 <= 1 + 3.0


def test_counterexample_the_operator_norm_is_too_small_for_cross_entropy():
    """2 |A|_1 with the operator norm (largest column sum) is 4 here; the gradient is near 20."""
    A = np.vstack([np.ones(100), -np.ones(100)])
    x = -np.ones(100)
    gradient = A.T @ (softmax(A @ x) - np.array([1.0, 0.0]))
    assert np.linalg.norm(gradient) > 19.9 > 2 * np.linalg.norm(A, 1)
    assert np.linalg.norm(gradient) <= 2 * np.abs(A).sum()


def test_counterexample_smoothness_of_cross_entropy_by_the_labels_row_alone():
    """The paper bounds the change of the gradient by max_i |sum_j y_j A_ji| times the change of
    the softmax. Where the label's row of A is zero that is zero; the gradient does change."""
    A, y = np.array([[0.0], [1.0]]), np.array([1.0, 0.0])
    change = [A.T @ (softmax(A @ np.array([x])) - y) for x in (0.0, 1.0)]
    assert np.abs(y @ A).max() == 0.0
    assert np.linalg.norm(change[0] - change[1]) > 0.2


def test_counterexample_different_tasks_in_each_mini_batch():
    """The proof telescopes u_t . l(x_t) as if every mini-batch held the same M tasks. Two tasks of
    opposite gradient in turn: no weighting to blame (delta = 0), the iterate stands still, the
    gradient norm stays near L^2 while the bound goes to 4 alpha L^2 S / (2 - alpha S)."""
    up, down = Cosine(1, 1, 0.0), Cosine(1, 1, math.pi)
    alpha, steps, x, norms = 0.02, 20000, math.pi / 2, []
    initial = up.value(x)
    for t in range(steps):
        gradient = (up, down)[t % 2].gradient(x)
        norms.append(gradient**2)
        x -= alpha * gradient
    bound = Bound(alpha, up.S, gradient_sigma(up.L), 1.0, 0.0, 1, initial)
    assert np.mean(norms) == pytest.approx(up.L**2, rel=1e-2)
    assert np.mean(norms) > 5 * bound.after(steps)


@given(st.floats(1e-4, 0.5), st.floats(0.1, 2), st.floats(0.1, 5), st.integers(1, 20))
def test_counterexample_epsilon_0_does_not_vanish_with_delta(alpha, smooth, sigma, M):
    """The remark after the theorem says lim epsilon_0 = 0 for delta -> 0. With uniform weights the
    noise of the gradients remains: alpha sigma^2 S~ / (M (2 - alpha S~)), above 0."""
    at_zero = Bound(alpha, smooth, sigma, 1.0, 0.0, M, 1.0).epsilon_0
    assert at_zero == pytest.approx(alpha * sigma**2 * smooth / (M * (2 - alpha * smooth)))
    assert at_zero > 0
    near = Bound(alpha, smooth, sigma, 1.0, 1e-14, M, 1.0).epsilon_0
    assert near == pytest.approx(at_zero, rel=1e-3, abs=1e-8)


def test_counterexample_epsilon_0_at_delta_0_in_numbers():
    assert Bound(1e-3, 1.0, 2.0, 1.0, 0.0, 10, 1.6).epsilon_0 == pytest.approx(2.001e-4, rel=1e-3)
