"""Charts of intervals: a row for each value, with its interval and the values of single seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from towpath.reports.charts.scale import Scale, fitted, tick_text
from towpath.reports.charts.svg import BOTTOM, CHARACTER, TOP, WIDTH, Words, series_class, svg


@dataclass(frozen=True)
class Interval:
    """A row of an interval chart: a value, its half-width, and single values (seeds)."""

    label: str
    colour: int
    value: float
    half: float
    singles: Sequence[float] = field(default_factory=tuple)
    text: str = ""


def interval_chart(
    words: Words, x_name: str, rows: Sequence[Interval], zero: str | None = None
) -> str:
    """Return a chart with a row per value: a dot with its interval, and ticks for the seeds.

    Args:
        words: name, title and description.
        x_name: name of the axis.
        rows: the rows from top to bottom; none gives no chart.
        zero: name of what lies at zero, which is then shown and marked.
    """
    if not rows:
        return ""
    left = min(190, 14 + CHARACTER * max(len(row.label) for row in rows))
    right = 8 + CHARACTER * max(len(row.text) for row in rows)
    height = 30 * len(rows) + TOP + BOTTOM - 16
    ends = [
        v
        for row in rows
        for v in (row.value - row.half, row.value + row.half, row.value, *row.singles)
        if math.isfinite(v)
    ]
    bottom = height - BOTTOM
    x = fitted(ends, left, WIDTH - right, include=[0.0] if zero is not None else [], pad=0.06)
    y = Scale(0.0, 1.0, bottom, 10)
    parts = []
    for tick in x.ticks(4):
        parts.append(f'<path class="grid" d="M{x(tick):.1f},6V{bottom:g}"/>')
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{bottom + 15:g}" ')
        parts.append(f'text-anchor="middle">{tick_text(tick)}</text>')
    if zero is not None:
        parts.append(f'<path class="reference" d="M{x(0):.1f},2V{bottom:g}"/>')
    middle = (x.start + x.end) / 2
    parts.append(f'<text class="name" x="{middle:.0f}" y="{bottom + 32:g}" text-anchor="middle">')
    parts.append(f"{escape(x_name)}</text>")
    for i, row in enumerate(rows):
        at = 22 + 30 * i
        parts.append(f'<g class="{series_class(row.colour)}">')
        parts.append(f'<text class="label" x="4" y="{at + 4}">{escape(row.label)}</text>')
        if math.isfinite(row.half):
            low, high = x(row.value - row.half), x(row.value + row.half)
            parts.append(f'<path class="line bold" d="M{low:.2f},{at}H{high:.2f}"/>')
        for single in row.singles if len(row.singles) > 1 else ():
            parts.append(f'<path class="line thin" d="M{x(single):.2f},{at - 6}v12"/>')
        parts.append(f'<circle class="dot" cx="{x(row.value):.2f}" cy="{at}" r="4.5"/></g>')
        parts.append(f'<text class="figure" x="{WIDTH - 4}" y="{at + 4}" text-anchor="end">')
        parts.append(f"{escape(row.text)}</text>")
    return svg(words, height, "".join(parts), x, y)
