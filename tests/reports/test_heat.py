"""Heat maps."""

import re

from towpath.reports.charts.heat import HeatRow, heat_map, wrapped
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
        assert "".join(lines) == name or " ".join(lines) == name
    svg = heat_map(WORDS, "step", [0.0, 1.0], [HeatRow(name, [1.0]) for name in names])
    shown = re.findall(r"<tspan[^>]*>([^<]*)</tspan>", svg)
    assert shown == [line for name in names for line in wrapped(name)]
    assert "…" not in svg
