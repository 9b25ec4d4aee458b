"""The SVG element around a chart: what it says of itself."""

from towpath.reports.charts.scale import Scale
from towpath.reports.charts.svg import Words, series_class, svg


def test_the_corners_say_which_values_they_are():
    x, y = Scale(0.0, 2.5, 40, 400), Scale(1.0, 100.0, 220, 20, log=True)
    text = svg(Words("one", "A & B", "<what>"), 262, "<g/>", x, y)
    assert 'id="one"' in text
    assert 'data-x="0.0 2.5 40 400" data-y="1.0 100.0 220 20 log"' in text
    assert "A &amp; B" in text
    assert "&lt;what&gt;" in text
    assert text.endswith("<g/></svg>")


def test_eight_colours_come_in_turn_and_grey_is_none_of_them():
    assert [series_class(i) for i in (0, 7, 8, -1)] == ["s0", "s7", "s0", "grey"]
