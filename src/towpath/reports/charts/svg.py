"""Charts as plain inline SVG: lines with bands, dots, intervals, heat maps.

No script, no fonts, no colours of their own: marks carry the classes `s0`, `s1`, ... (a series) or
`h-4` .. `h4` (a heat map's level), which the page's style sheet colours for light, dark and print.
Every chart has a title and a description for those who cannot see it, and its plot area says in
`data-*` attributes which values its corners are, so that what is drawn can be read back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape

from towpath.reports.charts.scale import Scale, fitted, tick_text

WIDTH, HEIGHT = 420, 262
LEFT, TOP, BOTTOM = 46, 26, 40
CHARACTER = 6.6
"""width of a character of the labels, in pixels"""
LONGEST_LABEL, LONGEST_ROW_LABEL = 16, 22
LINE = 12
"""height of a line of a label that is broken, in pixels"""
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


@dataclass(frozen=True)
class Words:
    """The name, title and description of a chart, for screen readers and search."""

    name: str
    """unique on the page; becomes part of ids"""
    title: str
    description: str


def line_chart(words: Words, axes: Axes, lines: Sequence[Line]) -> str:
    """Return a chart of lines, bands and dots as SVG; "" where there is nothing to draw."""
    lines = [drawable(line, axes) for line in lines]
    lines = [line for line in lines if line.points]
    if not lines:
        return ""
    named = direct_labels(lines)
    room = 10 + (CHARACTER * max(map(len, named)) if named else 4)
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    ys += [v for line in lines for _, low, high in line.band for v in (low, high)]
    must = [*axes.include_y, *(value for value, _ in axes.references)]
    if axes.diagonal:
        xs, ys = xs + ys, ys + xs
    x = fitted(xs, LEFT, WIDTH - room, log=axes.x_log, include=axes.include_x, pad=0.02)
    y = fitted(ys, HEIGHT - BOTTOM, TOP, log=axes.y_log, include=must)
    if axes.x.startswith(("step", "training")) and not axes.x_log:
        x = replace(x, low=max(x.low, 0.0))
    parts = [_frame(axes, x, y)]
    parts += [_reference(value, text, x, y) for value, text in axes.references]
    if axes.diagonal:
        low, high = max(x.low, y.low), min(x.high, y.high)
        parts.append(
            f'<path class="reference" d="M{_at(x, y, low, low)}L{_at(x, y, high, high)}"/>'
        )
    parts += [_band(line, x, y) for line in lines if line.band]
    parts += [_drawn(line, x, y) for line in lines]
    parts += _end_labels([line for line in lines if line.label in named], x, y)
    return _svg(words, HEIGHT, "".join(parts), x, y)


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


def _svg(words: Words, height: float, inside: str, x: Scale, y: Scale) -> str:
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


def _colour(index: int) -> str:
    return "grey" if index < 0 else f"s{index % 8}"


def _band(line: Line, x: Scale, y: Scale) -> str:
    upper = "L".join(_at(x, y, a, high) for a, _, high in line.band)
    lower = "L".join(_at(x, y, a, low) for a, low, _ in reversed(line.band))
    return f'<path class="band {_colour(line.colour)}" d="M{upper}L{lower}Z"/>'


def _drawn(line: Line, x: Scale, y: Scale) -> str:
    parts = [f'<g class="{_colour(line.colour)}">']
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
        f'<text class="label {_colour(wanted[name][1])}" x="{x.end + 6:g}" y="{at + 4:.1f}">'
        f"{escape(name)}</text>"
        for name, at in zip(order, places, strict=True)
    ]


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
        parts.append(f'<g class="{_colour(row.colour)}">')
        parts.append(f'<text class="label" x="4" y="{at + 4}">{escape(row.label)}</text>')
        if math.isfinite(row.half):
            low, high = x(row.value - row.half), x(row.value + row.half)
            parts.append(f'<path class="line bold" d="M{low:.2f},{at}H{high:.2f}"/>')
        for single in row.singles if len(row.singles) > 1 else ():
            parts.append(f'<path class="line thin" d="M{x(single):.2f},{at - 6}v12"/>')
        parts.append(f'<circle class="dot" cx="{x(row.value):.2f}" cy="{at}" r="4.5"/></g>')
        parts.append(f'<text class="figure" x="{WIDTH - 4}" y="{at + 4}" text-anchor="end">')
        parts.append(f"{escape(row.text)}</text>")
    return _svg(words, height, "".join(parts), x, y)


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
    lines = max(map(len, names))
    tall = (15 if len(rows) > 12 else 19) + LINE * (lines - 1)
    bottom = 8 + tall * len(rows)
    height = bottom + BOTTOM
    x = Scale(edges[0], edges[-1], left, WIDTH - 8)
    y = Scale(0.0, float(len(rows)), 8, bottom)
    parts = []
    for i, row in enumerate(rows):
        top = 8 + tall * i
        first = top + tall / 2 + 4 - LINE * (len(names[i]) - 1) / 2
        parts.append(f'<text class="tick" y="{first:g}" text-anchor="end">')
        for n, line in enumerate(names[i]):
            down = f' dy="{LINE}"' if n else ""
            parts.append(f'<tspan x="{left - 5:.0f}"{down}>{escape(line)}</tspan>')
        parts.append(f"<title>{escape(row.label)} {escape(row.aside)}</title></text>")
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
    return _svg(words, height, "".join(parts), x, y)


def _level(cell: float | None) -> int | None:
    return None if cell is None or not math.isfinite(cell) else heat_level(cell)


def wrapped(label: str) -> list[str]:
    """Return a label as lines that fit beside a heat map, broken after a sign if there is one.

    >>> wrapped("Greek"), wrapped("Old_Church_Slavonic_(Cyrillic)")
    (['Greek'], ['Old_Church_Slavonic_', '(Cyrillic)'])
    """
    lines = []
    while len(label) > LONGEST_ROW_LABEL:
        ends = [i for i in range(1, LONGEST_ROW_LABEL + 1) if label[i - 1] in " _-/.,"]
        end = ends[-1] if ends else LONGEST_ROW_LABEL
        lines.append(label[:end].rstrip())
        label = label[end:].lstrip()
    return [*lines, label]
