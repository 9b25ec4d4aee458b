"""What every chart has in common: its size, its words, and the SVG element around its marks.

No script, no fonts, no colours of their own: marks carry the classes `s0`, `s1`, ... (a series) or
`h-4` .. `h4` (a heat map's level), which the page's style sheet colours for light, dark and print.
Every chart has a title and a description for those who cannot see it, and its plot area says in
`data-*` attributes which values its corners are, so that what is drawn can be read back.
"""

from dataclasses import dataclass
from html import escape

from towpath.reports.charts.scale import Scale

WIDTH = 420
TOP, BOTTOM = 26, 40
CHARACTER = 6.6
"""width of a character of the labels, in pixels"""


@dataclass(frozen=True)
class Words:
    """The name, title and description of a chart, for screen readers and search."""

    name: str
    """unique on the page; becomes part of ids"""
    title: str
    description: str


def svg(words: Words, height: float, inside: str, x: Scale, y: Scale) -> str:
    """Return the SVG element of a chart.

    Args:
        words: name, title and description.
        height: height of the chart; all are equally wide.
        inside: the marks.
        x: scale of the horizontal axis.
        y: scale of the vertical axis.
    """
    corners = (
        f'data-x="{x.low!r} {x.high!r} {x.start:g} {x.end:g}{" log" if x.log else ""}" '
        f'data-y="{y.low!r} {y.high!r} {y.start:g} {y.end:g}{" log" if y.log else ""}"'
    )
    return (
        f'<svg id="{words.name}" viewBox="0 0 {WIDTH} {height:g}" role="img" '
        f'aria-labelledby="{words.name}-t {words.name}-d" {corners}>'
        f'<title id="{words.name}-t">{escape(words.title)}</title>'
        f'<desc id="{words.name}-d">{escape(words.description)}</desc>{inside}</svg>'
    )


def series_class(index: int) -> str:
    """Return the style sheet's class for the series with this index; grey for a negative one."""
    return "grey" if index < 0 else f"s{index % 8}"
