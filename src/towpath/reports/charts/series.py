"""Series of numbers: averaged over seeds, thinned to what a picture can show."""

from collections.abc import Sequence
from dataclasses import dataclass

from towpath.runs.smoothing import Point

DRAWN_POINTS = 300


@dataclass(frozen=True)
class Band:
    """A mean with the lowest and the highest of what it is the mean of."""

    x: float
    mean: float
    low: float
    high: float


def over_seeds(series: Sequence[Sequence[Point]]) -> list[Band]:
    """Mean and range at every x that all series have."""
    maps = [dict(points) for points in series if points]
    if not maps:
        return []
    shared = sorted(set(maps[0]).intersection(*maps[1:]))
    bands = []
    for x in shared:
        values = [m[x] for m in maps]
        bands.append(Band(x, sum(values) / len(values), min(values), max(values)))
    return bands


def pooled(series: Sequence[Sequence[Point]], count: int = DRAWN_POINTS) -> list[Band]:
    """All points of all series, as means of equal parts of the x-axis where there are too many.

    At most `count` points come back. Up to that, and with one series, they are the points
    themselves; otherwise each is a mean with its range, so that no peak is lost from the band.
    """
    points = sorted(p for one in series for p in one)
    if not points:
        return []
    if len({x for x, _ in points}) <= count:
        parts: dict[float, list[Point]] = {}
        for p in points:
            parts.setdefault(p[0], []).append(p)
        return [_band(part) for part in parts.values()]
    low, high = points[0][0], points[-1][0]
    bins: dict[int, list[Point]] = {}
    for p in points:
        bins.setdefault(min(count - 1, int((p[0] - low) / (high - low) * count)), []).append(p)
    return [_band(part) for part in bins.values()]


def _band(part: Sequence[Point]) -> Band:
    ys = [y for _, y in part]
    xs = [x for x, _ in part]
    return Band(sum(xs) / len(xs), sum(ys) / len(ys), min(ys), max(ys))


def every_nth(points: Sequence[Point], count: int = DRAWN_POINTS) -> list[Point]:
    """At most `count` of the points, evenly, first and last among them."""
    if len(points) <= count:
        return list(points)
    return [points[round(i * (len(points) - 1) / (count - 1))] for i in range(count)]
