"""Heat maps."""

from towpath.reports.charts.heat import HeatRow, heat_map
from towpath.reports.charts.svg import Words

WORDS = Words("chart", "A <title>", "what & how")


def test_a_heat_map_joins_equal_cells_and_leaves_holes():
    svg = heat_map(WORDS, "step", [0.0, 1, 2, 3, 4], [HeatRow("g", [1.0, 1.01, None, 3.0])])
    assert svg.count("<rect") == 2
    assert 'class="h0"' in svg
    assert 'class="h4"' in svg


def test_nothing_to_draw_is_no_chart():
    assert heat_map(WORDS, "x", [0.0, 1.0], []) == ""
    assert heat_map(WORDS, "x", [0.0], [HeatRow("g", [])]) == ""
