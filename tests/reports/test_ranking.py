"""Effects of classes on the values of tasks, against a dense mixed model."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from towpath.metrics import area_under_curve
from towpath.reports.ranking import effects, ranking
from towpath.runs.task_values import NORMAL_95


def drawn(K, n, ways, seed, effect):
    """n tasks of `ways` out of K classes; the value is the sum of the classes' effects and noise.

    `effect` are the effects of the classes, and the noise has a standard deviation of 0.3.
    """
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(K, ways, replace=False) for _ in range(n)]
    amounts = [{f"c{k:03}": 1.0 for k in own} for own in chosen]
    values = [1.0 + float(effect[own].sum()) + 0.3 * rng.normal() for own in chosen]
    return values, amounts


def by_name(found):
    return {effect.name: effect for effect in found}


def test_the_estimate_is_that_of_the_dense_mixed_model_at_its_most_likely_penalty():
    K, n = 12, 60
    truth = np.where(np.arange(K) < 4, -0.25, 0.0)
    values, amounts = drawn(K, n, 3, 1, truth)
    names = sorted({name for own in amounts for name in own})
    X = np.array([[own.get(name, 0.0) for name in names] for own in amounts])
    y = np.array(values) - np.mean(values)
    best = -np.inf
    for penalty in np.exp(np.linspace(-6, 9, 1501)):
        V = np.eye(n) + X @ X.T / penalty
        sigma2 = y @ np.linalg.solve(V, y) / n
        likely = multivariate_normal.logpdf(y, cov=sigma2 * V) + 0.5 * np.log(sigma2 / penalty)
        if likely > best:
            best = likely
            tau2 = sigma2 / penalty
            weight = tau2 * X.T @ np.linalg.inv(sigma2 * V)
            b, spread = weight @ y, tau2 * np.eye(K) - weight @ X * tau2
    found = by_name(effects(values, amounts))
    assert [found[name].value for name in names] == pytest.approx(np.mean(values) + b, abs=2e-3)
    halves = NORMAL_95 * np.sqrt(np.diag(spread))
    assert [found[name].half for name in names] == pytest.approx(halves, rel=2e-2)


def test_bad_classes_come_first_although_every_task_has_good_ones_too():
    K = 60
    truth = np.where(np.arange(K) < 24, -0.1, 0.0)
    values, amounts = drawn(K, 1500, 5, 0, truth)
    found = effects(values, amounts)
    assert found == sorted(found, key=lambda effect: effect.value)
    bad = [effect.name < "c024" for effect in found]
    area = area_under_curve([-effect.value for effect in found], bad)
    # the mean of the tasks that a class was in, which does not part it from its company
    plain = {
        name: np.mean([v for v, own in zip(values, amounts, strict=True) if name in own])
        for name in {name for own in amounts for name in own}
    }
    rival = area_under_curve([-mean for mean in plain.values()], [name < "c024" for name in plain])
    assert area > 0.95
    assert area >= rival
    centred = truth - truth.mean()
    covered = [abs(e.value - e.mean - centred[int(e.name[1:])]) <= e.half for e in found]
    assert np.mean(covered) > 0.85


def test_where_classes_do_not_differ_none_stands_out_and_intervals_have_a_width():
    for seed in range(5):
        values, amounts = drawn(40, 800, 5, seed, np.zeros(40))
        found = effects(values, amounts)
        assert not any(effect.differs for effect in found)
        assert all(0.01 < effect.half < 0.2 for effect in found)


def test_equal_values_have_no_effects_and_no_tasks_no_names():
    found = effects([1.0, 1.0], [{"a": 1.0, "b": 1.0}, {"b": 1.0, "c": 1.0}])
    assert [(e.name, e.value, e.half, e.tasks) for e in found] == [
        ("a", 1.0, 0.0, 1),
        ("b", 1.0, 0.0, 2),
        ("c", 1.0, 0.0, 1),
    ]
    assert not any(effect.differs for effect in found)
    assert effects([], []) == []
    assert effects([1.0], [{}]) == []


def test_what_was_seen_seldom_stays_nearer_to_the_mean():
    rng = np.random.default_rng(5)
    names = ["often"] * 40 + ["seldom"] * 2 + ["other"] * 60
    values = [(0.6 if name != "other" else 1.2) + 0.1 * rng.normal() for name in names]
    found = by_name(effects(values, [{name: 1.0} for name in names]))
    assert found["often"].value < found["seldom"].value < found["other"].value
    assert found["often"].half < found["seldom"].half
    assert found["often"].differs


def test_reliability_is_high_where_classes_are_told_apart_and_low_where_they_are_not():
    truth = np.where(np.arange(40) < 16, -0.3, 0.0)
    clear, blurred = (ranking(*drawn(40, 800, 5, 1, effect)) for effect in (truth, 0 * truth))
    assert clear.reliability > 0.9
    assert blurred.reliability < 0.5
    assert ranking([1.0, 1.0], [{"a": 1.0}, {"b": 1.0}]).reliability == 0.0
    assert ranking([], []).reliability == 0.0
