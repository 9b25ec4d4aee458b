"""Charts: where marks land, what they say to those who cannot see them, what is left out."""

import itertools
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.reading import Page
from towpath.reports.charts.scale import Scale, fitted, log_ticks, nice_ticks, tick_text
from towpath.reports.charts.series import Band, every_nth, over_seeds, pooled
from towpath.reports.charts.svg import (
    Axes,
    HeatRow,
    Interval,
    Line,
    Words,
    heat_map,
    interval_chart,
    line_chart,
    wrapped,
)

WORDS = Words("chart", "A <title>", "what & how")
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


def test_drawn_points_can_be_read_back():
    points = [(0.0, 10.0), (50.0, 35.5), (100.0, 20.25)]
    svg = line_chart(WORDS, Axes("step", "value"), [Line("one", 0, points)])
    (line,) = Page(svg).lines("chart")
    for (x, y), (a, b) in zip(points, line, strict=True):
        assert a == pytest.approx(x, abs=0.03)
        assert b == pytest.approx(y, abs=0.01)


def test_a_chart_speaks_and_escapes():
    svg = line_chart(WORDS, Axes("step", "a < b"), [Line("<one>", 0, [(0, 1), (1, 2)])])
    assert 'role="img" aria-labelledby="chart-t chart-d"' in svg
    assert '<title id="chart-t">A &lt;title&gt;</title>' in svg
    assert '<desc id="chart-d">what &amp; how</desc>' in svg
    assert "<one>" not in svg


def test_nothing_to_draw_is_no_chart():
    assert line_chart(WORDS, Axes("x", "y"), []) == ""
    assert line_chart(WORDS, Axes("x", "y"), [Line("a", 0, [(0.0, math.nan)])]) == ""
    assert line_chart(WORDS, Axes("x", "y", y_log=True), [Line("a", 0, [(1.0, -1.0)])]) == ""
    assert interval_chart(WORDS, "x", []) == ""
    assert heat_map(WORDS, "x", [0.0, 1.0], []) == ""


def test_labels_at_the_ends_do_not_overlap():
    lines = [Line(f"w{i}", i, [(0, 1.0), (1, 1.0 + 1e-3 * i)]) for i in range(6)]
    svg = line_chart(WORDS, Axes("step", "y", include_y=(0.0, 5.0)), lines)
    places = [
        float(part.split('y="')[1].split('"')[0]) for part in svg.split('<text class="label')[1:]
    ]
    assert len(places) == 6
    assert min(b - a for a, b in itertools.pairwise(sorted(places))) >= 12.9


def test_long_names_are_left_to_the_legend():
    line = Line("tow-faithful_value=diagonal", 0, [(0, 1), (1, 2)])
    svg = line_chart(WORDS, Axes("step", "y"), [line])
    assert '<text class="label' not in svg


def test_an_infinite_interval_is_not_drawn():
    svg = interval_chart(WORDS, "x", [Interval("a", 0, 5.0, math.inf, (), "5.0")])
    assert "inf" not in svg
    assert "nan" not in svg
    assert "<circle" in svg


def test_a_heat_map_joins_equal_cells_and_leaves_holes():
    svg = heat_map(WORDS, "step", [0.0, 1, 2, 3, 4], [HeatRow("g", [1.0, 1.01, None, 3.0])])
    assert svg.count("<rect") == 2
    assert 'class="h0"' in svg
    assert 'class="h4"' in svg


def test_seeds_are_averaged_where_all_of_them_are():
    assert over_seeds([[(1, 0.0), (2, 4.0)], [(1, 2.0)], []]) == [Band(1, 1.0, 0.0, 2.0)]


@given(
    st.lists(st.tuples(st.integers(0, 500), FINITE), min_size=1, max_size=60), st.integers(2, 30)
)
def test_thinning_keeps_few_points_and_every_extreme(points, count):
    bands = pooled([points], count)
    assert len(bands) <= count
    assert min(b.low for b in bands) == min(y for _, y in points)
    assert max(b.high for b in bands) == max(y for _, y in points)
    assert all(b.low - 1e-6 <= b.mean <= b.high + 1e-6 for b in bands)


def test_every_nth_keeps_the_ends():
    points = [(float(i), 0.0) for i in range(1000)]
    thin = every_nth(points, 300)
    assert len(thin) == 300
    assert (thin[0], thin[-1]) == (points[0], points[-1])


def test_logarithmic_scales():
    scale = Scale(0.1, 10.0, 0.0, 100.0, log=True)
    assert scale(1.0) == pytest.approx(50.0)


def test_long_names_of_rows_are_broken_into_lines_and_never_cut():
    names = [
        "Greek",
        "Old_Church_Slavonic_(Cyrillic)",
        "x" * 50,
        "a name of a group with many words",
    ]
    for name in names:
        lines = wrapped(name)
        assert all(len(line) <= 22 for line in lines)
        assert "".join(lines) == name.replace(" ", "") or " ".join(lines) == name
    svg = heat_map(WORDS, "step", [0.0, 1.0], [HeatRow(name, [1.0]) for name in names])
    shown = re.findall(r"<tspan[^>]*>([^<]*)</tspan>", svg)
    assert shown == [line for name in names for line in wrapped(name)]
    assert "…" not in svg
