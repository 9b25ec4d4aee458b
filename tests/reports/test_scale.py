"""Axes: ticks that are easy to read, and scales that show everything."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.reports.charts.scale import Scale, fitted, log_ticks, nice_ticks, tick_text

FINITE = st.floats(-1e6, 1e6)


@given(FINITE, st.floats(1e-3, 1e6))
def test_ticks_are_few_round_and_inside(low, width):
    ticks = nice_ticks(low, low + width)
    assert 2 <= len(ticks) <= 7
    slack = 1e-9 * (abs(low) + width)
    assert all(low - slack <= t <= low + width + slack for t in ticks)
    steps = {(b - a) / width for a, b in itertools.pairwise(ticks)}
    assert max(steps) - min(steps) < 1e-6


@given(st.floats(1e-8, 1e8), st.floats(1.5, 1e9))
def test_logarithmic_ticks_are_inside(low, ratio):
    ticks = log_ticks(low, low * ratio)
    assert len(ticks) <= 20
    assert all(low <= t <= low * ratio for t in ticks)


def test_tick_labels():
    assert [tick_text(v) for v in (-5.0, 0.0, 0.001, 1234567.0, -1e-9)] == [
        "−5", "0", "0.001", "1,234,567", "−1e-9",
    ]  # fmt: skip


@given(st.lists(FINITE, max_size=5))
def test_a_fitted_scale_shows_everything(values):
    scale = fitted(values, 10, 100)
    assert scale.low < scale.high
    assert all(10 <= scale(v) <= 100 for v in values)


def test_logarithmic_scales():
    scale = Scale(0.1, 10.0, 0.0, 100.0, log=True)
    assert scale(1.0) == pytest.approx(50.0)


@given(st.floats(1e-3, 1e6), st.floats(1.2, 100))
def test_a_logarithmic_axis_has_numbers_however_narrow(low, ratio):
    assert len(log_ticks(low, low * ratio)) >= 2
