"""Charts of intervals."""

import math

from towpath.reports.charts.intervals import Interval, interval_chart
from towpath.reports.charts.svg import Words

WORDS = Words("chart", "A <title>", "what & how")


def test_an_infinite_interval_is_not_drawn():
    svg = interval_chart(WORDS, "x", [Interval("a", 0, 5.0, math.inf, (), "5.0")])
    assert "inf" not in svg
    assert "nan" not in svg
    assert "<circle" in svg


def test_nothing_to_draw_is_no_chart():
    assert interval_chart(WORDS, "x", []) == ""


def test_what_lies_at_zero_is_shown_and_marked():
    row = Interval("a", 0, 5.0, 1.0)
    assert 'class="reference"' not in interval_chart(WORDS, "x", [row])
    svg = interval_chart(WORDS, "x", [row], zero="uniform")
    low, high = map(float, svg.split('data-x="')[1].split('"')[0].split()[:2])
    assert 'class="reference"' in svg
    assert low <= 0.0 < 6.0 <= high
