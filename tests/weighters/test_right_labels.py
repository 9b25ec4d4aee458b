"""The fit of right and wrong labels against known shares, and against brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from towpath.weighters.rules.right_labels import FEW_WRONG, LabelFit, Labels
from towpath.weighters.rules.selection import Gaussian

FIT = LabelFit(least_spread=1.0, widest_wrong=0.4, iterations=200)


def drawn(share, m, s, d=1.0, n=20_000, seed=0):
    generator = np.random.default_rng(seed)
    right = generator.random(n) < share
    return np.where(right, generator.normal(m, s, n), generator.normal(0, d, n)), right


@pytest.mark.parametrize(("share", "m", "s"), [(0.6, 5.0, 1.3), (0.4, 4.0, 1.2), (0.8, 6.0, 2.0)])
def test_the_fit_finds_the_share_and_the_mean_of_right_labels(share, m, s):
    z, _ = drawn(share, m, s)
    found = FIT(z)
    assert found.right.share == pytest.approx(share, abs=0.02)
    assert found.right.mean == pytest.approx(m, abs=0.05)
    assert found.right.deviation == pytest.approx(s, abs=0.05)
    assert found.wrong_deviation == pytest.approx(1.0, abs=0.05)


def test_a_wider_distribution_of_wrong_labels_is_found_where_it_is_free():
    z, _ = drawn(0.6, 5.0, 1.2, d=1.8)
    assert FIT(z).wrong_deviation == pytest.approx(1.8, abs=0.1)
    assert LabelFit(least_spread=1.0)(z).wrong_deviation == 1.0


def test_the_fit_is_the_maximum_of_the_likelihood():
    z, _ = drawn(0.6, 4.0, 1.5, n=400)
    found = LabelFit(least_spread=0.5, iterations=2000)(z)

    def minus_likelihood(p):
        share, mean, deviation = 1 / (1 + np.exp(-p[0])), p[1], np.exp(p[2])
        parts = share * norm.pdf(z, mean, deviation) + (1 - share) * norm.pdf(z)
        prior = FEW_WRONG[0] * np.log(1 - share) + FEW_WRONG[1] * np.log(share)
        return -np.log(parts).sum() - prior

    best = minimize(minus_likelihood, [0.0, 4.0, 0.0], method="Nelder-Mead", tol=1e-10).x
    assert found.right.share == pytest.approx(1 / (1 + np.exp(-best[0])), abs=1e-3)
    assert found.right.mean == pytest.approx(best[1], abs=1e-3)
    assert found.right.deviation == pytest.approx(np.exp(best[2]), abs=1e-3)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("hard", [2.0, 3.0])
def test_hard_tasks_are_not_taken_for_wrong_ones_of_a_wide_distribution(share, hard):
    kept = []
    for seed in range(30):
        generator = np.random.default_rng(seed)
        is_hard = generator.random(200) < share
        z = np.where(is_hard, generator.normal(hard, 1.2, 200), generator.normal(9.0, 1.2, 200))
        found = FIT(z)
        dropped = 0.0 if found.takes_hard_for_wrong(z, 0.5) else found.falling_posterior(z)
        kept.append(1.0 - np.mean(dropped * is_hard) / max(np.mean(is_hard), 1e-9))
    assert np.mean(kept) > 0.8  # 0.00 to 0.40 with a wide distribution of wrong labels


@pytest.mark.parametrize("d", [1.0, 1.9])
def test_wrong_labels_are_still_told_from_hard_ones(d):
    for seed in range(30):
        z, _ = drawn(0.6, 5.0, 1.5, d=d, n=200, seed=seed)
        assert not FIT(z).takes_hard_for_wrong(z, 0.5)


@pytest.mark.parametrize(("m", "s"), [(3.0, 1.0), (6.0, 1.0), (5.5, 2.0), (7.0, 0.8)])
def test_where_all_labels_are_right_hardly_any_is_taken_for_wrong(m, s):
    # windows of 200 tasks, as a rule sees them
    dropped = []
    for seed in range(30):
        z = np.random.default_rng(seed).normal(m, s, 200)
        dropped.append(FIT(z).falling_posterior(z).mean())
    assert np.mean(dropped) < 0.02


@pytest.mark.parametrize(
    ("m", "s", "least"), [(1.5, 1.5, 0.75), (1.2, 1.2, 0.77), (2.0, 2.0, 0.84)]
)
def test_where_evidence_is_weak_right_tasks_keep_most_of_their_weight(m, s, least):
    kept = []
    for seed in range(30):
        z = np.random.default_rng(seed).normal(m, s, 200)
        kept.append(1 - FIT(z).falling_posterior(z).mean())
    assert least < np.mean(kept) < 0.95  # docs/method.md, section 11


def test_the_posterior_is_that_of_bayes_and_never_rises_with_the_evidence():
    labels = Labels(Gaussian(0.6, 5.0, 2.0), wrong_deviation=1.0)
    z = np.linspace(-6, 12, 400)
    density = 0.4 * norm.pdf(z)
    expected = density / (density + 0.6 * norm.pdf(z, 5.0, 2.0))
    np.testing.assert_allclose(labels.wrong_posterior(z), expected, atol=1e-12)
    falling = labels.falling_posterior(z)
    assert (np.diff(falling) <= 1e-15).all()
    middle = (z > -1.5) & (z < 5.0)  # between the vertex and the mean of right labels
    np.testing.assert_allclose(falling[middle], expected[middle], atol=1e-12)


def test_wrong_tasks_are_dropped_and_right_ones_kept():
    z, right = drawn(0.6, 5.0, 1.3, n=4000)
    keep = 1 - FIT(z).falling_posterior(z)
    assert keep[right].mean() > 0.95
    assert keep[~right].mean() < 0.05


def test_a_single_task_can_be_fitted():
    found = FIT(np.array([0.3]))
    assert 0 < found.right.share < 1
    assert np.isfinite(found.falling_posterior(np.array([0.3]))).all()
