"""Exploration and exploitation solve the paper's problem: SLSQP, and where it gives up, KKT."""

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, OptimizeResult, minimize

import towpath as tp
from towpath.weighters import Dirichlet, Gamma

Array = npt.NDArray[np.float64]
RULES = {"exploration": (tp.Exploration, 1.0), "exploitation": (tp.Exploitation, -1.0)}

tasks = st.integers(1, 10)
ordinary = tasks.flatmap(lambda m: st.lists(st.floats(0, 10), min_size=m, max_size=m))
extreme = tasks.flatmap(
    lambda m: st.lists(
        st.one_of(st.floats(0, 1e300), st.sampled_from([0.0, 1e-300, 1e-12, 1e12, 1e30])),
        min_size=m,
        max_size=m,
    )
)


def rule_weights(rule: tp.MiniBatchWeighter, losses: Array) -> Array:
    """What the rule says of losses; it must not look at gradients, so these are NaN."""
    tensor = torch.tensor(losses, dtype=torch.float64)
    gradients = tensor.new_full((len(tensor), 3), torch.nan)
    given_weights, state = rule.weights(tp.MiniBatch(tensor, gradients), {})
    assert state == {}
    return given_weights.numpy()


def objective(u: Array, losses: Array, sign: float, concentration: float) -> float:
    """The paper's: `-+u.l - ln p(u)`, the density's constant left out."""
    return float(-sign * u @ losses - (concentration - 1.0) * np.log(u).sum())


def slsqp(losses: Array, sign: float, concentration: float) -> OptimizeResult:
    """The paper's solver, on the simplex, as tight as it goes."""
    M, unit = len(losses), max(1.0, float(np.ptp(losses)))
    best = losses.max() if sign > 0 else losses.min()  # shifts the objective by a constant
    return minimize(
        lambda u: objective(u, losses - best, sign, concentration) / unit,
        np.full(M, 1.0 / M),
        jac=lambda u: (-sign * (losses - best) - (concentration - 1.0) / u) / unit,
        method="SLSQP",
        bounds=[(1e-9, 1.0)] * M,
        constraints=LinearConstraint(np.ones((1, M)), 1.0, 1.0),
        options={"ftol": 1e-15, "maxiter": 1000},
    )


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(losses=ordinary, concentration=st.sampled_from([1.2, 1.5, 5.0]))
def test_rules_agree_with_slsqp_on_the_papers_objective(name, losses, concentration):
    kind, sign = RULES[name]
    l = np.array(losses)
    found = rule_weights(kind(concentration), l)
    reference = slsqp(l, sign, concentration)
    assert reference.success, reference.message
    np.testing.assert_allclose(found, reference.x, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(losses=extreme, concentration=st.one_of(st.floats(1.001, 50), st.just(1 + 1e-9)))
def test_rules_satisfy_the_kkt_conditions_for_extreme_losses(name, losses, concentration):
    # SLSQP fails here: `-+l_i - a / u_i` is the same for all i, and sum(u) = 1
    kind, sign = RULES[name]
    l = np.array(losses)
    u = rule_weights(kind(concentration), l)
    assert np.isfinite(u).all()
    assert (u >= 0).all()
    assert u.sum() == pytest.approx(1, abs=1e-12)
    best = int(np.argmax(sign * l))
    with np.errstate(over="ignore"):
        below = sign * (l[best] - l) / (concentration - 1.0)
    np.testing.assert_allclose(u, 1.0 / (1.0 / u[best] + below), rtol=1e-7, atol=0)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("scale", [1e2, 1e3, 1e4])
def test_slsqp_never_finds_a_better_value_for_large_losses(name, scale):
    kind, sign = RULES[name]
    generator = np.random.default_rng(0)
    for _ in range(10):
        l = scale * generator.gamma(2.0, 1.0, 8)
        ours = objective(rule_weights(kind(1.2), l), l, sign, 1.2)
        feasible = np.clip(slsqp(l, sign, 1.2).x, 1e-12, None)
        theirs = objective(feasible / feasible.sum(), l, sign, 1.2)
        assert ours <= theirs + 1e-9 * abs(theirs)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("concentration", [0.0, 0.2, 1.0])
def test_the_best_task_takes_all_at_a_concentration_of_one_or_below(name, concentration):
    kind, sign = RULES[name]
    l = np.array([2.0, 0.5, 3.0, 1.0])
    vertex = np.zeros(4)
    vertex[np.argmax(sign * l)] = 1.0
    np.testing.assert_array_equal(rule_weights(kind(concentration), l), vertex)
    # it is the best of the simplex: for a linear objective (1) and a concave one (below 1)
    # every other point is worse once it is off the boundary by anything
    draws = np.random.default_rng(0).dirichlet(np.ones(4), 200)
    assert (sign * draws @ l <= sign * vertex @ l).all()


@pytest.mark.parametrize("name", RULES)
def test_tasks_that_tie_for_the_best_share_the_vertex(name):
    kind, sign = RULES[name]
    tied = np.array([1.0, 1.0, 1.0 - sign])
    np.testing.assert_array_equal(rule_weights(kind(1.0), tied), [0.5, 0.5, 0.0])


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("concentration", [1.2, 5.0])
def test_weights_are_ordered_as_the_losses_and_equal_losses_weigh_the_same(name, concentration):
    kind, sign = RULES[name]
    l = np.array([0.1, 0.7, 0.7, 2.0, 5.0])
    u = rule_weights(kind(concentration), l)
    assert (sign * np.diff(u) >= 0).all()
    assert u[1] == u[2]
    assert u.max() > 1.05 * u.min()
    uniform = rule_weights(kind(concentration), np.full(5, 0.3))
    np.testing.assert_allclose(uniform, np.full(5, 0.2), rtol=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(losses=ordinary, a=st.sampled_from([0.2, 1.0, 4.0]), room=st.floats(0.3, 2.0))
def test_the_gamma_prior_agrees_with_slsqp_under_bounds(losses, a, room):
    l = np.array(losses)
    rate = float(l.max()) + a * len(l) * room
    for name, (kind, sign) in RULES.items():
        reference = minimize(
            lambda u, sign=sign: objective(u, l, sign, 1 + a) + rate * u.sum(),
            np.full(len(l), 1.0 / len(l)),
            jac=lambda u, sign=sign: -sign * l - a / u + rate,
            method="SLSQP",
            bounds=[(1e-9, None)] * len(l),
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        assert reference.success, (name, reference.message)
        found = rule_weights(kind(prior=Gamma(1 + a, rate)), l)
        np.testing.assert_allclose(found, reference.x, rtol=0, atol=1e-6)


def test_the_gamma_priors_own_mode_is_one_over_m_and_an_unbounded_problem_is_refused():
    np.testing.assert_allclose(Gamma(1.2).maximise(np.zeros(4)), np.full(4, 0.25))
    with pytest.raises(ValueError, match=r"found a task loss of 2; .* Raise rate"):
        Gamma(1.2, rate=1.0).maximise(np.array([0.5, 2.0]))
    with pytest.raises(ValueError, match="expected above 1"):
        Gamma(1.0)


@pytest.mark.parametrize("concentration", [-0.1, np.nan, np.inf])
def test_a_concentration_that_is_no_concentration_is_refused(concentration):
    for kind in (Dirichlet, tp.Exploration, tp.Exploitation):
        with pytest.raises(ValueError, match=r"concentration.*at least 0"):
            kind(concentration)


def test_uniform_weights_are_one_over_m():
    for M in (1, 3, 10):
        assert rule_weights(tp.Uniform(), np.arange(float(M))).tolist() == [1.0 / M] * M


@pytest.mark.parametrize("concentration", [0.3, 1.0, 5.0])
def test_random_weights_follow_the_dirichlet_distribution(concentration):
    rule, M, count = tp.Random(concentration), 3, 4000
    draws = np.empty((count, M))
    losses = torch.zeros(M, dtype=torch.float64)
    for n in range(count):
        w, _ = rule.weights(tp.MiniBatch(losses, losses[:, None], step=n), {})
        draws[n] = w.numpy()
    np.testing.assert_allclose(draws.sum(1), 1.0)
    variance = (M - 1) / M**2 / (M * concentration + 1)  # the Dirichlet's
    error = 5 * np.sqrt(variance / count)  # of the mean, five standard errors
    np.testing.assert_allclose(draws.mean(0), 1.0 / M, atol=error)
    np.testing.assert_allclose(draws.var(0), variance, rtol=0.15)


def test_the_nth_draw_depends_on_the_seed_and_n_alone():
    losses = torch.zeros(4, dtype=torch.float64)

    def draw(seed: int, n: int, losses: torch.Tensor = losses) -> list[float]:
        batch = tp.MiniBatch(losses, losses[:, None], step=n)
        return tp.Random(seed=seed).weights(batch, {})[0].tolist()

    first = draw(0, 0)
    torch.manual_seed(7)
    assert draw(0, 0, losses + 3) == first
    assert len({tuple(draw(seed, n)) for seed in range(3) for n in range(3)}) == 9


def test_random_refuses_a_concentration_of_zero():
    with pytest.raises(ValueError, match="above 0"):
        tp.Random(0.0)
