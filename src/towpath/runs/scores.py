"""Scores of a learner on fixed tasks: mean, interval, and differences task by task.

Methods are always compared on the same tasks, so a difference is taken task by task before it is
averaged: its interval is much narrower than those of the two means.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from towpath.runs.plain import (
    Json,
    JsonObject,
    figure_at,
    figures_at,
    object_of,
    text_at,
)

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScoreSummary:
    """The figures of a score that a summary and a validation record keep."""

    mean: float
    interval: float
    """half-width of the 95% interval of the mean"""
    worst_tenth: float
    tasks: int
    loss: float
    metric: str
    """accuracy or loss: the metric of `mean`, `interval` and `worst_tenth`"""

    @property
    def is_accuracy(self) -> bool:
        """Whether the figures are accuracies rather than losses."""
        return self.metric == "accuracy"

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the summary."""
        return {
            "mean": self.mean,
            "interval": self.interval,
            "worst_tenth": self.worst_tenth,
            "tasks": self.tasks,
            "loss": self.loss,
            "metric": self.metric,
        }

    @classmethod
    def from_json(cls, content: JsonObject) -> "ScoreSummary":
        """Return the summary that a file holds; only mean and metric are required."""
        tasks = content.get("tasks", 0)
        return cls(
            mean=figure_at(content, "mean"),
            interval=figure_at({"interval": None, **content}, "interval"),
            worst_tenth=figure_at({"worst_tenth": None, **content}, "worst_tenth"),
            tasks=tasks if isinstance(tasks, int) else 0,
            loss=figure_at({"loss": None, **content}, "loss"),
            metric=text_at(content, "metric"),
        )


@dataclass(frozen=True, eq=False)
class Score:
    """The loss of each task and, where the tasks have classes, the accuracy."""

    accuracies: Array | None
    losses: Array

    @property
    def values(self) -> Array:
        """The figures that are compared: accuracies where there are classes, losses otherwise."""
        return self.losses if self.accuracies is None else self.accuracies

    @property
    def metric(self) -> str:
        """The metric that `values` are: "accuracy" or "loss"."""
        return "loss" if self.accuracies is None else "accuracy"

    @property
    def mean(self) -> float:
        """The mean of `values` over all tasks."""
        return float(self.values.mean())

    @property
    def interval(self) -> float:
        """The half-width of the 95% interval of the mean."""
        return half_width(self.values)

    @classmethod
    def interval_over_seeds(cls, scores: Sequence["Score"]) -> float:
        """Return the half-width of the 95% interval of the mean over tasks and seeds.

        The seeds are averaged task by task first: their tasks are the same, so that they are not
        so many independent tasks. Infinite for a single task.
        """
        if len({len(score.values) for score in scores}) > 1:
            return float(np.mean([score.interval for score in scores]))
        return half_width(np.mean([score.values for score in scores], axis=0))

    @property
    def worst_tenth(self) -> float:
        """The mean of `values` over the worst tenth of the tasks, at least one."""
        count = max(1, len(self.values) // 10)
        ordered = np.sort(self.values)
        worst = ordered[:count] if self.accuracies is not None else ordered[-count:]
        return float(worst.mean())

    def summary(self) -> ScoreSummary:
        """Return the figures of this score that a summary file keeps."""
        return ScoreSummary(
            mean=self.mean,
            interval=self.interval,
            worst_tenth=self.worst_tenth,
            tasks=len(self.values),
            loss=float(self.losses.mean()),
            metric=self.metric,
        )

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the score."""
        accuracies = None if self.accuracies is None else self.accuracies.tolist()
        return {"accuracies": accuracies, "losses": self.losses.tolist()}

    @classmethod
    def from_json(cls, content: JsonObject, where: str) -> "Score":
        """Return the score that a file holds; raise TypeError or KeyError if it holds none.

        Args:
            content: what `as_json` returned.
            where: name of the test set, for the message.
        """
        losses = figures_at(content, "losses")
        accuracies = None if content["accuracies"] is None else figures_at(content, "accuracies")
        if not losses or (accuracies is not None and len(accuracies) != len(losses)):
            raise TypeError(f"{where}: not one number for each test task")
        return cls(
            None if accuracies is None else np.asarray(accuracies, dtype=np.float64),
            np.asarray(losses, dtype=np.float64),
        )


def scores_as_json(scores: Mapping[str, Score]) -> dict[str, Json]:
    """Return the content of `evaluations.json`: the score on each test set, task by task."""
    return {name: score.as_json() for name, score in scores.items()}


def scores_from_json(content: JsonObject) -> dict[str, Score]:
    """Return the scores of an `evaluations.json`; raise TypeError or KeyError if it has none."""
    if not content:
        raise TypeError(f"{repr(content)[:80]} is not a result for each test set")
    return {
        name: Score.from_json(object_of(score, "the score on a test set"), name)
        for name, score in content.items()
    }


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
        cls, one: Mapping[int, Score], other: Mapping[int, Score]
    ) -> "SeedDifferences | None":
        """Return `one - other` for the seeds that both have; None if they share none."""
        rows = {seed: one[seed].values - other[seed].values for seed in one if seed in other}
        if not rows:
            return None
        by_task = np.mean(list(rows.values()), axis=0)
        return cls(
            paired_difference(by_task, np.zeros_like(by_task)),
            {seed: paired_difference(row, np.zeros_like(row)) for seed, row in rows.items()},
        )

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


def half_width(values: Sequence[float] | Array) -> float:
    """Return the half-width of a mean's 95% interval (Student's t); infinite for one value."""
    n = len(values)
    if n < 2:
        return math.inf
    quantile = float(stats.t.ppf(0.975, n - 1))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(n)


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
