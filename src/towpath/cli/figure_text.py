"""Figures as the terminal shows them: a mean with its interval, what was left out, a run's cost."""

import math

from towpath.metrics import Metric
from towpath.training.estimate import Estimate
from towpath.wording import seconds_text


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


def gibibytes(count: int) -> str:
    """Return an amount of memory as text."""
    return f"{count / 2**30:.1f} GiB"


def cost_text(cost: Estimate) -> str:
    """Return the expected time and memory of a run as text."""
    held_out = seconds_text(cost.evaluation_seconds)
    return (
        f"{seconds_text(cost.seconds)} ({cost.seconds_per_step:.2f} s a step, {cost.overhead:.1f} "
        f"times uniform; {held_out} of validation and test), {gibibytes(cost.peak_bytes)}"
    )
