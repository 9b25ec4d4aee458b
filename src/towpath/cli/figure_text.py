"""Figures of tests as the terminal shows them: a mean with its interval, and what was left out."""

import math

from towpath.metrics import Metric


def figure(mean: float, interval: float, metric: Metric, named: bool = False) -> str:
    """Return a mean with the half-width of its 95% interval, as text.

    Args:
        mean: the mean of the metric.
        interval: the half-width of its interval.
        metric: the metric.
        named: whether to name even an accuracy, which its per cent sign tells where it is alone.
    """
    name = f"{metric.words} " if named or not metric.percent else ""
    width = interval if math.isfinite(interval) else 0.0  # of a single task
    return f"{name}{metric.text(mean)} +-{metric.shown(width)}"


def left_out(count: int, metric: Metric) -> str:
    """Return how many tasks are left out of a metric, and why, as text; empty where none are."""
    return f" ({count} left out: {metric.undefined_where})" if count else ""
