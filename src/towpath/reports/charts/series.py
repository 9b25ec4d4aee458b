"""Series of numbers: averaged over seeds, and thinned to what a chart can show."""

from collections.abc import Sequence
from dataclasses import dataclass

from towpath.runs.smoothing import Point

DRAWN_POINTS = 300


@dataclass(frozen=True)
class Band:
    """A mean with the lowest and the highest of the values that it averages."""

    x: float
    mean: float
    low: float
    high: float


def over_seeds(series: Sequence[Sequence[Point]]) -> list[Band]:
    """Return the mean and range of the series at every x that all of them have."""
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
    """Pool the points of all series into at most `count` bands.

    Where there are at most `count` different values of x, each of them has its band; otherwise each
    band covers an equal part of the x-axis. A band keeps the range, so that no peak is lost.
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
    """Return at most `count` of the points, evenly spaced, with the first and the last."""
    if len(points) <= count:
        return list(points)
    return [points[round(i * (len(points) - 1) / (count - 1))] for i in range(count)]
