"""Differences of two methods, task by task.

Methods are always compared on the same tasks, so a difference is taken task by task before it is
averaged: its interval is much narrower than those of the two means.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from towpath.metrics import Metric
from towpath.runs.plain import Json, JsonObject, figure_at, object_of
from towpath.runs.task_values import Array, TaskValues, defined_in_all, half_width


@dataclass(frozen=True)
class PairedDifference:
    """The mean of a - b over the same tasks, its 95% interval and its two-sided p-value."""

    mean: float
    interval: float
    p_value: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the 95% interval does not contain zero."""
        return abs(self.mean) > self.interval

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the difference."""
        return {
            "mean": self.mean,
            "interval": self.interval,
            "p_value": self.p_value,
            "excludes_zero": self.excludes_zero,
        }

    @classmethod
    def from_json(cls, content: JsonObject) -> "PairedDifference":
        """Return the difference that a file holds; an interval stored as null is infinite."""
        interval = figure_at(content, "interval")
        return cls(
            mean=figure_at(content, "mean"),
            interval=math.inf if math.isnan(interval) else interval,
            p_value=figure_at(content, "p_value"),
        )


@dataclass(frozen=True)
class SeedDifferences:
    """Paired differences of two methods that were run with the same seeds."""

    pooled: PairedDifference
    """difference of each task's mean over seeds"""
    seeds: Mapping[int, PairedDifference]
    """difference of each seed by itself"""

    @classmethod
    def between(
        cls, one: Mapping[int, TaskValues], other: Mapping[int, TaskValues]
    ) -> "SeedDifferences | None":
        """Return `one - other` for the seeds that both have; None if they share none.

        Tasks on which the metric is undefined are left out.
        """
        both = [seed for seed in one if seed in other]
        if not both:
            return None
        kept = defined_in_all([method[seed] for method in (one, other) for seed in both])
        if not kept.any():
            return None
        rows = {seed: (one[seed].values - other[seed].values)[kept] for seed in both}
        by_task = np.mean(list(rows.values()), axis=0)
        return cls(
            paired_difference(by_task, np.zeros_like(by_task)),
            {seed: paired_difference(row, np.zeros_like(row)) for seed, row in rows.items()},
        )

    def ahead(self, metric: Metric) -> int:
        """Return in how many seeds the first method is the better one by a metric."""
        return sum(metric.goodness(one.mean) > 0 for one in self.seeds.values())

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the differences."""
        seeds = {str(seed): one.as_json() for seed, one in self.seeds.items()}
        return {**self.pooled.as_json(), "seeds": seeds}

    @classmethod
    def from_json(cls, content: JsonObject) -> "SeedDifferences":
        """Return the differences that a file holds; raise TypeError or KeyError if it has none."""
        seeds = object_of(content["seeds"], "a difference for each seed")
        return cls(
            PairedDifference.from_json(content),
            {
                int(seed): PairedDifference.from_json(object_of(one, "a difference"))
                for seed, one in seeds.items()
            },
        )


def paired_difference(a: Array, b: Array) -> PairedDifference:
    """Return the difference a - b, taken task by task, with Student's paired t-test.

    A single task is no evidence: its p-value is 1.
    """
    if len(a) != len(b):
        raise ValueError(
            f"Found {len(a)} and {len(b)} tasks; expected the same tasks in both runs. Evaluate "
            "both with the same number of tasks and the same seed."
        )
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    mean, width = float(difference.mean()), half_width(difference)
    n = len(difference)
    if n < 2 or mean == 0.0:
        return PairedDifference(mean, width, 1.0)
    error = float(np.std(difference, ddof=1)) / math.sqrt(n)
    if error == 0.0:
        return PairedDifference(mean, width, 0.0)
    return PairedDifference(mean, width, 2.0 * float(stats.t.sf(abs(mean) / error, n - 1)))
