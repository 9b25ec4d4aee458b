"""Charts of lines, with bands around them and dots on them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from towpath.reports.charts.scale import Scale, fitted, tick_text
from towpath.reports.charts.svg import BOTTOM, CHARACTER, TOP, WIDTH, Words, series_class, svg

HEIGHT, LEFT = 262, 46
LONGEST_LABEL = 16
STRIP = 7
"""height of the strip that marks stretches of the x axis"""
TOOLTIPS = 80
"""lines with more dots than this have no tooltips"""

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A series to draw: points in order of x, and optionally a band of (x, low, high)."""

    label: str
    colour: int
    """index of the series' colour; -1 for grey"""
    points: Sequence[Point]
    band: Sequence[tuple[float, float, float]] = ()
    style: str = "bold"
    """bold, thin, faint or dashed"""
    dots: bool = False
    join: bool = True
    """False for dots alone"""


@dataclass(frozen=True)
class Span:
    """A stretch of the x axis that is marked in the colour of a series."""

    start: float
    end: float
    colour: int
    """index of the series' colour; -1 for grey"""
    label: str
    """what holds there, shown when a reader points at it"""


@dataclass(frozen=True)
class Axes:
    """The names of the two axes, and the values that they must show."""

    x: str
    y: str
    x_log: bool = False
    y_log: bool = False
    include_x: Sequence[float] = ()
    include_y: Sequence[float] = ()
    references: Sequence[tuple[float, str]] = ()
    """horizontal reference lines, each with a label"""
    diagonal: bool = False
    """whether to draw the line y = x"""
    whole: bool = False
    """whether y counts things, so that only whole numbers get ticks"""
    spans: Sequence[Span] = ()
    """stretches of x to mark in a strip along the axis"""
    end_labels: bool = True
    """whether lines are named at their ends; False where these lie all over the chart"""


def line_chart(words: Words, axes: Axes, lines: Sequence[Line]) -> str:
    """Return a chart of lines, bands and dots as SVG; "" where there is nothing to draw."""
    lines = [drawable(line, axes) for line in lines]
    lines = [line for line in lines if line.points]
    if not lines:
        return ""
    named = direct_labels(lines) if axes.end_labels else []
    room = 10 + (CHARACTER * max(map(len, named)) if named else 4)
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    ys += [v for line in lines for _, low, high in line.band for v in (low, high)]
    must = [*axes.include_y, *(value for value, _ in axes.references)]
    if axes.diagonal:
        xs, ys = xs + ys, ys + xs
    x = fitted(xs, LEFT, WIDTH - room, log=axes.x_log, include=axes.include_x, pad=0.02)
    y = fitted(ys, HEIGHT - BOTTOM, TOP, log=axes.y_log, include=must)
    if axes.spans and not axes.y_log:
        y = _above_strip(y)
    if axes.x.startswith(("step", "training")) and not axes.x_log:
        x = replace(x, low=max(x.low, 0.0))
    parts = [_frame(axes, x, y)]
    parts += [_strip(span, x, y) for span in axes.spans]
    parts += [_reference(value, text, x, y) for value, text in axes.references]
    if axes.diagonal:
        low, high = max(x.low, y.low), min(x.high, y.high)
        parts.append(
            f'<path class="reference" d="M{_at(x, y, low, low)}L{_at(x, y, high, high)}"/>'
        )
    parts += [_band(line, x, y) for line in lines if line.band]
    parts += [_drawn(line, x, y) for line in lines]
    parts += _end_labels([line for line in lines if line.label in named], x, y)
    return svg(words, HEIGHT, "".join(parts), x, y)


def direct_labels(lines: Sequence[Line]) -> list[str]:
    """Return names to write at the ends of lines; none where they are too long for the chart."""
    names = list(dict.fromkeys(line.label for line in lines if line.label and line.join))
    short = all(len(name) <= LONGEST_LABEL for name in names)
    return names if short and len(names) <= 8 else []


def drawable(line: Line, axes: Axes) -> Line:
    """Return the line without points that its axes cannot show."""
    points = [
        (x, y)
        for x, y in line.points
        if math.isfinite(x)
        and math.isfinite(y)
        and (x > 0 or not axes.x_log)
        and (y > 0 or not axes.y_log)
    ]
    return replace(line, points=points)


def _at(x: Scale, y: Scale, a: float, b: float) -> str:
    return f"{x(a):.2f},{y(b):.2f}"


def _frame(axes: Axes, x: Scale, y: Scale) -> str:
    parts = []
    for tick in (t for t in y.ticks() if not axes.whole or t == int(t)):
        at = y(tick)
        parts.append(f'<path class="grid" d="M{x.start:g},{at:.1f}H{x.end:g}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">')
        parts.append(f"{tick_text(tick)}</text>")
    for tick in x.ticks(5 if x.high < 10000 else 4):
        at = x(tick)
        parts.append(f'<path class="axis" d="M{at:.1f},{y.start:g}v4"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{y.start + 17:g}" text-anchor="middle">')
        parts.append(f"{tick_text(tick)}</text>")
    parts.append(f'<path class="axis" d="M{x.start:g},{y.start:g}H{x.end:g}"/>')
    parts.append(f'<text class="name" x="4" y="13">{escape(axes.y)}</text>')
    middle = (x.start + x.end) / 2
    parts.append(f'<text class="name" x="{middle:.0f}" y="{y.start + 35:g}" text-anchor="middle">')
    parts.append(f"{escape(axes.x)}</text>")
    return "".join(parts)


def _reference(value: float, text: str, x: Scale, y: Scale) -> str:
    at = y(value)
    return (
        f'<path class="reference" d="M{x.start:g},{at:.1f}H{x.end:g}"/>'
        f'<text class="aside" x="{x.start + 4:g}" y="{at - 4:.1f}">{escape(text)}</text>'
    )


def _above_strip(y: Scale) -> Scale:
    """Return a linear scale whose values lie above the strip along the x axis."""
    share = 2 * STRIP / (y.start - y.end)
    return replace(y, low=y.low - (y.high - y.low) * share)


def _strip(span: Span, x: Scale, y: Scale) -> str:
    return (
        f'<rect class="dot {series_class(span.colour)}" x="{x(span.start):.2f}" '
        f'y="{y.start - STRIP:g}" width="{max(0.0, x(span.end) - x(span.start)):.2f}" '
        f'height="{STRIP}"><title>{escape(span.label)}</title></rect>'
    )


def _band(line: Line, x: Scale, y: Scale) -> str:
    upper = "L".join(_at(x, y, a, high) for a, _, high in line.band)
    lower = "L".join(_at(x, y, a, low) for a, low, _ in reversed(line.band))
    return f'<path class="band {series_class(line.colour)}" d="M{upper}L{lower}Z"/>'


def _drawn(line: Line, x: Scale, y: Scale) -> str:
    parts = [f'<g class="{series_class(line.colour)}">']
    if line.join and len(line.points) > 1:
        path = "L".join(_at(x, y, a, b) for a, b in line.points)
        parts.append(f'<path class="line {line.style}" d="M{path}">')
        parts.append(f"<title>{escape(line.label)}</title></path>" if line.label else "</path>")
    if line.dots or not line.join or len(line.points) == 1:
        size = 2.6 if len(line.points) < 100 else 1.8
        told = len(line.points) <= TOOLTIPS
        for a, b in line.points:
            text = f"{line.label} ({tick_text(_short(a))}, {tick_text(_short(b))})".strip()
            end = f"><title>{escape(text)}</title></circle>" if told else "/>"
            parts.append(
                f'<circle class="dot {line.style}" cx="{x(a):.2f}" cy="{y(b):.2f}" r="{size}"{end}'
            )
    return "".join([*parts, "</g>"])


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _end_labels(lines: Sequence[Line], x: Scale, y: Scale) -> list[str]:
    """Return names beside the last point of each line, moved apart where they would overlap."""
    wanted: dict[str, tuple[float, int]] = {}
    for line in lines:
        if line.join and (line.label not in wanted or line.style == "bold"):
            wanted[line.label] = (y(line.points[-1][1]), line.colour)
    order = sorted(wanted, key=lambda name: wanted[name][0])
    places: list[float] = []
    for name in order:
        at = wanted[name][0]
        places.append(max(at, places[-1] + 13) if places else at)
    over = places[-1] - (y.start - 2) if places else 0.0
    for i in range(len(places) - 1, -1, -1):
        limit = places[i + 1] - 13 if i + 1 < len(places) else y.start - 2
        places[i] = min(places[i], limit) if over > 0 else places[i]
    return [
        f'<text class="label {series_class(wanted[name][1])}" x="{x.end + 6:g}" y="{at + 4:.1f}">'
        f"{escape(name)}</text>"
        for name, at in zip(order, places, strict=True)
    ]
