"""One metric on each of some fixed tasks: its mean, interval and worst tenth.

A task on which the metric is undefined is left out of all of them, and counted. A task on which the
outputs were not finite is not: the mean over such tasks is NaN.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from towpath.metrics import Metric

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
NORMAL_95 = 1.959964
"""half-width of a 95% interval, in standard deviations of a normal distribution"""


@dataclass(frozen=True, eq=False)
class TaskValues:
    """A metric, its value on each task and the tasks on which it is defined."""

    metric: Metric
    values: Array
    """[tasks], NaN where the metric is undefined or the outputs were not finite"""
    defined: Mask
    """[tasks]"""

    @classmethod
    def of(cls, metric: Metric, values: Array, losses: Array) -> "TaskValues":
        """Tell undefined values from those of outputs that were not finite, by the tasks' losses.

        Args:
            metric: the metric.
            values: its value on each task.
            losses: the loss of each task.
        """
        return cls(metric, values, ~(np.isnan(values) & np.isfinite(losses)))

    @property
    def kept(self) -> Array:
        """The values of the tasks on which the metric is defined."""
        return self.values if bool(self.defined.all()) else self.values[self.defined]

    @property
    def left_out(self) -> int:
        """The number of tasks on which the metric is undefined."""
        return int((~self.defined).sum())

    @property
    def mean(self) -> float:
        """The mean over the tasks; NaN where the metric is undefined on all of them."""
        kept = self.kept
        return float(kept.mean()) if len(kept) else math.nan

    @property
    def interval(self) -> float:
        """The half-width of the 95% interval of the mean."""
        return half_width(self.kept)

    @property
    def worst_tenth(self) -> float:
        """The mean over the worst tenth of the tasks, at least one."""
        ordered = np.sort(self.kept)
        if not len(ordered):
            return math.nan
        count = max(1, len(ordered) // 10)
        worst = ordered[:count] if self.metric.larger_is_better else ordered[-count:]
        return float(worst.mean())

    @staticmethod
    def interval_over_seeds(seeds: Sequence["TaskValues"]) -> float:
        """Return the half-width of the 95% interval of the mean over tasks and seeds.

        The seeds are averaged task by task first: their tasks are the same, so that they are not
        so many independent tasks. Infinite for a single task.
        """
        if len({len(one.values) for one in seeds}) > 1:
            return float(np.mean([one.interval for one in seeds]))
        by_task = np.mean([one.values for one in seeds], axis=0)
        return half_width(by_task[defined_in_all(seeds)])


def defined_in_all(scores: Sequence[TaskValues]) -> Mask:
    """Return for each task whether the metric is defined on it in all of the scores."""
    together: Mask = np.logical_and.reduce([one.defined for one in scores])
    return together


def half_width(values: Sequence[float] | Array) -> float:
    """Return the half-width of a mean's 95% interval (Student's t); infinite for one value."""
    n = len(values)
    if n < 2:
        return math.inf
    quantile = float(stats.t.ppf(0.975, n - 1))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(n)
