"""The moving average of the paper's figures, for drawn curves and for numbers read from them."""

from collections.abc import Sequence

SMOOTHING = 0.1
"""factor of the exponential moving average in the paper's figures"""
ENOUGH_TO_SMOOTH = 20
"""with fewer points the moving average reflects the first one more than the series"""

Point = tuple[float, float]


def moving_average(points: Sequence[Point]) -> list[Point]:
    """Return the exponential moving average with factor 0.1, as in the paper's figures."""
    result: list[Point] = []
    for x, y in points:
        level = (1 - SMOOTHING) * result[-1][1] + SMOOTHING * y if result else y
        result.append((x, level))
    return result
