"""Trim and mixture against plain computations of their definitions, over steps with state."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import towpath as tp


def walked(rule, batches):
    """The rule's weights for one mini-batch after another, its state through JSON each time."""
    state, rows = rule.initial_state(), []
    for n, losses in enumerate(batches):
        tensor = torch.tensor(losses, dtype=torch.float64)
        batch = tp.MiniBatch(tensor, torch.full((len(losses), 2), torch.nan), step=n)
        w, state = rule.weights(batch, json.loads(json.dumps(state)))
        rows.append(w.numpy())
    return rows


def reference_mixture(seen, losses):
    """EM as a textbook has it, with scipy's densities; the weights of the losses."""
    x = np.array(seen)
    means = [np.percentile(x, 25), np.percentile(x, 75)]
    deviations = [max(1e-3, float(np.std(x)))] * 2
    shares = [0.5, 0.5]
    for _ in range(50):
        p = np.array(
            [s * norm.pdf(x, m, d) for s, m, d in zip(shares, means, deviations, strict=True)]
        )
        r = p / p.sum(0)
        for k in range(2):
            shares[k] = r[k].mean()
            means[k] = (r[k] * x).sum() / r[k].sum()
            variance = (r[k] * (x - means[k]) ** 2).sum() / r[k].sum()
            deviations[k] = max(1e-3, math.sqrt(variance))
    low, high = (0, 1) if means[0] <= means[1] else (1, 0)
    l = np.array(losses)
    if means[high] - means[low] < (deviations[0] + deviations[1]) / 2:
        return np.full(len(l), 1 / len(l))
    a = shares[low] * norm.pdf(l, means[low], deviations[low])
    b = shares[high] * norm.pdf(l, means[high], deviations[high])
    w = np.where(l < means[low], 1.0, a / (a + b))
    return w / w.sum()


def two_kinds(seed, steps, M=8):
    """Losses about 1 and about 3, the kinds mixed anew in every mini-batch."""
    draws = np.random.default_rng(seed)
    kinds = draws.random((steps, M)) < 0.4
    return np.where(kinds, draws.normal(3, 0.4, (steps, M)), draws.normal(1, 0.2, (steps, M)))


def test_trim_shares_the_weight_among_the_lowest_after_its_warmup():
    batches = two_kinds(0, 25)
    rows = walked(tp.Trim(), batches)
    for n, (w, losses) in enumerate(zip(rows, batches, strict=True)):
        if n < 20:
            expected = np.full(8, 1 / 8)
        else:
            lowest = sorted(range(8), key=lambda i: losses[i])[:6]  # ceil(0.7 * 8)
            expected = np.array([1 / 6 if i in lowest else 0.0 for i in range(8)])
        np.testing.assert_allclose(w, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("keep", "M", "k"), [(0.1, 30, 3), (0.7, 10, 7), (0.01, 4, 1), (1, 3, 3)])
def test_trim_keeps_the_share_rounded_up_whatever_floating_point_says(keep, M, k):
    (w,) = walked(tp.Trim(keep=keep, warmup=0), [list(range(M))])
    assert w.tolist() == [1 / k] * k + [0.0] * (M - k)


def test_the_mixture_is_that_of_a_textbook_over_many_steps():
    batches = two_kinds(1, 40)
    rows = walked(tp.Mixture(), batches)
    seen: list[float] = []
    moved = 0
    for n, (w, losses) in enumerate(zip(rows, batches, strict=True)):
        seen = [*seen, *losses][-200:]
        expected = np.full(8, 1 / 8) if n < 20 else reference_mixture(seen, losses)
        np.testing.assert_allclose(w, expected, rtol=0, atol=1e-6)
        moved += np.ptp(w) > 0.05
    assert moved > 15, "weights that never move prove little"


def test_the_mixture_sees_one_kind_where_there_is_one():
    batches = np.random.default_rng(3).normal(1.0, 0.3, (30, 8))
    rows = walked(tp.Mixture(warmup=0), batches)
    seen: list[float] = []
    for w, losses in zip(rows, batches, strict=True):
        seen = [*seen, *losses][-200:]
        np.testing.assert_allclose(w, reference_mixture(seen, losses), rtol=0, atol=1e-6)
    equal = walked(tp.Mixture(warmup=0), [[0.7] * 5] * 2)
    np.testing.assert_allclose(equal, 0.2)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(losses=st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_the_mixtures_weight_never_grows_with_the_loss(losses):
    (w,) = walked(tp.Mixture(warmup=0), [losses])
    assert np.isfinite(w).all()
    assert w.sum() == pytest.approx(1.0)
    assert (np.diff(w[np.argsort(losses, kind="stable")]) <= 1e-12).all()


def test_a_wide_lower_component_does_not_take_back_what_lies_far_above():
    # losses of 0 to 4 evenly, and a narrow heap at 5: at 8 the wide one is likelier again
    wide, narrow = np.linspace(0, 4, 60), np.full(40, 5.0) + np.linspace(-0.05, 0.05, 40)
    losses = [*wide, *narrow, 8.0]
    (w,) = walked(tp.Mixture(warmup=0), [losses])
    assert w[-1] <= w[60:100].min() + 1e-15
    assert w[-1] < 0.1 * w[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tp.Trim(keep=0.0),
        lambda: tp.Trim(keep=1.2),
        lambda: tp.Trim(warmup=-1),
        lambda: tp.Mixture(window=1),
        lambda: tp.Mixture(warmup=-1),
    ],
)
def test_options_out_of_range_are_value_errors(make):
    with pytest.raises(ValueError, match="expected"):
        make()
