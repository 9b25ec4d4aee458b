"""Heat maps of weights relative to uniform ones: a row of cells for each series."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from towpath.reports.charts.scale import Scale, tick_text
from towpath.reports.charts.svg import BOTTOM, CHARACTER, WIDTH, Words, svg

LONGEST_LINE = 22
"""characters of a line of a label"""
LINE = 12
"""height of a line of a label that is broken, in pixels"""


@dataclass(frozen=True)
class HeatRow:
    """A row of a heat map: cells in order of x, None where nothing is known."""

    label: str
    cells: Sequence[float | None]
    aside: str = ""


LEVELS = (0.02, 0.1, 0.25, 0.5)
"""distances from 1 at which the level of a heat map changes; the last is full colour"""


def heat_level(relative: float) -> int:
    """Return the level, from -4 to 4, of a weight relative to uniform.

    >>> [heat_level(v) for v in (0.0, 0.8, 1.0, 1.3, 9.0)]
    [-4, -2, 0, 3, 4]
    """
    level = sum(abs(relative - 1) >= edge for edge in LEVELS)
    return level if relative >= 1 else -level


def heat_map(words: Words, x_name: str, edges: Sequence[float], rows: Sequence[HeatRow]) -> str:
    """Return a heat map of weights relative to uniform, with a row of cells for each series.

    Args:
        words: name, title and description.
        x_name: name of the axis.
        edges: edges of the columns, one more than a row has cells.
        rows: the rows from top to bottom; none gives no chart.
    """
    if not rows or len(edges) < 2:
        return ""
    names = [wrapped(row.label) for row in rows]
    left = 10 + CHARACTER * max(len(line) for lines in names for line in lines)
    tall = (15 if len(rows) > 12 else 19) + LINE * (max(map(len, names)) - 1)
    bottom = 8 + tall * len(rows)
    height = bottom + BOTTOM
    x = Scale(edges[0], edges[-1], left, WIDTH - 8)
    y = Scale(0.0, float(len(rows)), 8, bottom)
    parts = []
    for i, row in enumerate(rows):
        top = 8 + tall * i
        parts.append(_row_label(row, names[i], left - 5, top + tall / 2 + 4))
        start = 0
        while start < len(row.cells):  # cells of one level in a row are one rectangle
            level = _level(row.cells[start])
            end = start + 1
            while end < len(row.cells) and _level(row.cells[end]) == level:
                end += 1
            if level is not None:
                a, b = x(edges[start]), x(edges[end])
                parts.append(
                    f'<rect class="h{level}" x="{a:.1f}" y="{top}" width="{b - a:.1f}" '
                    f'height="{tall - 1}"/>'
                )
            start = end
    for tick in x.ticks(4):
        parts.append(f'<path class="axis" d="M{x(tick):.1f},{bottom}v4"/>')
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{bottom + 17}" ')
        parts.append(f'text-anchor="middle">{tick_text(tick)}</text>')
    middle = (x.start + x.end) / 2
    parts.append(f'<text class="name" x="{middle:.0f}" y="{bottom + 34}" text-anchor="middle">')
    parts.append(f"{escape(x_name)}</text>")
    return svg(words, height, "".join(parts), x, y)


def _level(cell: float | None) -> int | None:
    return None if cell is None or not math.isfinite(cell) else heat_level(cell)


def _row_label(row: HeatRow, lines: Sequence[str], right: float, middle: float) -> str:
    """Return the label of a row as text that ends at `right`, its lines around `middle`."""
    first = middle - LINE * (len(lines) - 1) / 2
    parts = [f'<text class="tick" y="{first:g}" text-anchor="end">']
    for n, line in enumerate(lines):
        down = f' dy="{LINE}"' if n else ""
        parts.append(f'<tspan x="{right:.0f}"{down}>{escape(line)}</tspan>')
    parts.append(f"<title>{escape(row.label)} {escape(row.aside)}</title></text>")
    return "".join(parts)


def wrapped(label: str) -> list[str]:
    """Return a label as lines that fit beside a heat map, broken after a sign if there is one.

    >>> wrapped("Greek"), wrapped("Old_Church_Slavonic_(Cyrillic)")
    (['Greek'], ['Old_Church_Slavonic_', '(Cyrillic)'])
    """
    lines = []
    while len(label) > LONGEST_LINE:
        ends = [i for i in range(1, LONGEST_LINE + 1) if label[i - 1] in " _-/.,"]
        end = ends[-1] if ends else LONGEST_LINE
        lines.append(label[:end].rstrip())
        label = label[end:].lstrip()
    return [*lines, label]
