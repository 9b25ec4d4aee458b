"""Charts of lines: where marks land, and what they say to those who cannot see them."""

import itertools
import math
import re
from dataclasses import replace

import pytest

from tests.reports.reading import Page
from towpath.reports.charts.lines import Axes, Line, Span, line_chart
from towpath.reports.charts.svg import Words

WORDS = Words("chart", "A <title>", "what & how")


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


def test_stretches_of_the_axis_are_marked_in_a_strip_and_names_may_be_left_to_a_legend():
    spans = (Span(0, 50, -1, "a < b"), Span(50, 100, 3, "c"))
    axes = Axes("step", "value", spans=spans, end_labels=False)
    svg = line_chart(WORDS, axes, [Line("one", 0, [(0.0, 1.0), (100.0, 2.0)])])
    lowest = replace(axes, references=[(0.0, "zero")])
    dotted = line_chart(WORDS, lowest, [Line("one", 0, [(0.0, 0.0), (100.0, 2.0)], dots=True)])
    found = re.findall(r'<rect class="dot (\w+)" x="([\d.]+)" y="\S+" width="([\d.]+)"', svg)
    (grey, start, first), (series, middle, second) = found
    assert (grey, series) == ("grey", "s3")
    assert float(start) + float(first) == pytest.approx(float(middle), abs=0.02)
    assert float(first) == pytest.approx(float(second), abs=0.02)
    assert "<title>a &lt; b</title>" in svg
    # the strip hides neither the lowest point nor a line of reference
    dots = [float(at) for at in re.findall(r'<circle[^>]* cy="([\d.]+)"', dotted)]
    top = float(re.findall(r'<rect class="dot grey" x="\S+" y="([\d.]+)"', dotted)[0])
    zero = float(re.findall(r'class="reference" d="M[\d.]+,([\d.]+)H', dotted)[0])
    assert max(*dots, zero) < top - 3
    assert 'class="label' not in svg
    assert 'class="label' in line_chart(WORDS, Axes("s", "v"), [Line("one", 0, [(0, 1), (1, 2)])])
