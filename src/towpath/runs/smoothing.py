"""The moving average of the paper's figures, for curves that are drawn and for what is read off."""

from collections.abc import Sequence

SMOOTHING = 0.1
"""of the paper's figures"""
ENOUGH_TO_SMOOTH = 20
"""with fewer points the moving average says more of the first one than of the series"""

Point = tuple[float, float]


def moving_average(points: Sequence[Point]) -> list[Point]:
    """Exponential moving average with factor 0.1, as in the paper's figures."""
    result: list[Point] = []
    for x, y in points:
        level = (1 - SMOOTHING) * result[-1][1] + SMOOTHING * y if result else y
        result.append((x, level))
    return result
