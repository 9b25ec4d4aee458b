"""Scores of a learner on fixed tasks: the metrics of each task, and their means with intervals."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from towpath.metrics import ACCURACY, LOSS, Metric, metric_named
from towpath.runs.confusion import Confusion
from towpath.runs.plain import (
    Json,
    JsonObject,
    count_at,
    figure_at,
    figures_at,
    object_of,
    text_at,
)
from towpath.runs.task_values import Array, TaskValues


@dataclass(frozen=True)
class MetricSummary:
    """The figures of one metric over fixed tasks."""

    mean: float
    interval: float
    """half-width of the 95% interval of the mean"""
    worst_tenth: float
    left_out: int = 0
    """number of tasks on which the metric is undefined"""

    @classmethod
    def of(cls, one: TaskValues) -> "MetricSummary":
        """Summarise a metric's values on some tasks."""
        return cls(one.mean, one.interval, one.worst_tenth, one.left_out)

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the figures."""
        content: dict[str, Json] = {
            "mean": self.mean,
            "interval": self.interval,
            "worst_tenth": self.worst_tenth,
        }
        return content | ({"left_out": self.left_out} if self.left_out else {})

    @classmethod
    def from_json(cls, content: JsonObject) -> "MetricSummary":
        """Return the figures that a file holds; only the mean is required."""
        return cls(
            mean=figure_at(content, "mean"),
            interval=figure_at({"interval": None, **content}, "interval"),
            worst_tenth=figure_at({"worst_tenth": None, **content}, "worst_tenth"),
            left_out=count_at({"left_out": 0, **content}, "left_out"),
        )


@dataclass(frozen=True)
class ScoreSummary:
    """The figures of a score that a summary and a validation record keep."""

    main: MetricSummary
    metric: Metric
    """the main metric, that of `main`"""
    tasks: int
    loss: float
    others: Mapping[Metric, MetricSummary] = field(default_factory=dict)
    """the metrics beside the main one; empty where these are accuracy and loss alone"""

    @property
    def mean(self) -> float:
        """The mean of the main metric over the tasks."""
        return self.main.mean

    @property
    def interval(self) -> float:
        """The half-width of the 95% interval of the mean."""
        return self.main.interval

    @property
    def worst_tenth(self) -> float:
        """The mean of the main metric over the worst tenth of the tasks."""
        return self.main.worst_tenth

    def of(self, metric: Metric) -> MetricSummary | None:
        """Return the figures of a metric; None where the score does not have it."""
        return self.main if metric == self.metric else self.others.get(metric)

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the summary."""
        content: dict[str, Json] = {
            **self.main.as_json(),
            "tasks": self.tasks,
            "loss": self.loss,
            "metric": self.metric.name,
        }
        if self.others:
            content["others"] = {one.name: said.as_json() for one, said in self.others.items()}
        return content

    @classmethod
    def from_json(cls, content: JsonObject) -> "ScoreSummary":
        """Return the summary that a file holds; only mean and metric are required."""
        tasks = content.get("tasks", 0)
        others = object_of(content.get("others", {}), "the other metrics by name")
        return cls(
            main=MetricSummary.from_json(content),
            metric=metric_named(text_at(content, "metric")),
            tasks=tasks if isinstance(tasks, int) else 0,
            loss=figure_at({"loss": None, **content}, "loss"),
            others={
                metric_named(name): MetricSummary.from_json(object_of(one, "a metric"))
                for name, one in others.items()
            },
        )


@dataclass(frozen=True, eq=False)
class Score:
    """The metrics of each task, one of which is the main one, by which methods are compared.

    Example:
        >>> import numpy as np
        >>> from towpath.metrics import ACCURACY, LOSS
        >>> score = Score({ACCURACY: np.array([0.5, 1.0]), LOSS: np.array([0.7, 0.1])})
        >>> score.mean, score.of(LOSS).worst_tenth
        (0.75, 0.7)
    """

    by_metric: Mapping[Metric, Array]
    """the value of each task, by metric; NaN where a metric is undefined. The loss is always
    there."""
    chosen: Metric | None = None
    """the main metric; None for the first"""
    confusion: Confusion | None = None
    """which classes were taken for which; None where the tasks name no classes. It is no part of
    `as_json`: a run keeps it in a file of its own."""

    @property
    def metric(self) -> Metric:
        """The main metric."""
        return next(iter(self.by_metric)) if self.chosen is None else self.chosen

    @property
    def losses(self) -> Array:
        """The loss of each task."""
        return self.by_metric[LOSS]

    @property
    def accuracies(self) -> Array | None:
        """The accuracy of each task; None where the tasks have no classes."""
        return self.by_metric.get(ACCURACY)

    def of(self, metric: Metric) -> TaskValues:
        """Return the values of one metric; raise KeyError if the score does not have it."""
        return TaskValues.of(metric, self.by_metric[metric], self.losses)

    @property
    def main(self) -> TaskValues:
        """The values of the main metric."""
        return self.of(self.metric)

    @property
    def others(self) -> list[Metric]:
        """The metrics beside the main one; the loss only where it is not the only one."""
        others = [metric for metric in self.by_metric if metric != self.metric]
        return [] if others == [LOSS] else others

    @property
    def values(self) -> Array:
        """The main metric of each task."""
        return self.by_metric[self.metric]

    @property
    def mean(self) -> float:
        """The mean of the main metric over the tasks on which it is defined."""
        return self.main.mean

    @property
    def interval(self) -> float:
        """The half-width of the 95% interval of the mean."""
        return self.main.interval

    @property
    def worst_tenth(self) -> float:
        """The mean of the main metric over the worst tenth of the tasks, at least one."""
        return self.main.worst_tenth

    def summary(self) -> ScoreSummary:
        """Return the figures of this score that a summary file keeps."""
        return ScoreSummary(
            main=MetricSummary.of(self.main),
            metric=self.metric,
            tasks=len(self.losses),
            loss=float(self.losses.mean()),
            others={metric: MetricSummary.of(self.of(metric)) for metric in self.others},
        )

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the score.

        Accuracies and losses stand where every release looks for them; other metrics, and a main
        metric that is neither, are added beside.
        """
        accuracies = self.accuracies
        content: dict[str, Json] = {
            "accuracies": None if accuracies is None else accuracies.tolist(),
            "losses": self.losses.tolist(),
        }
        more = {
            metric.name: values.tolist()
            for metric, values in self.by_metric.items()
            if metric not in (ACCURACY, LOSS)
        }
        if more:
            content["metrics"] = more
        if self.metric != (LOSS if accuracies is None else ACCURACY):
            content["main"] = self.metric.name
        return content

    @classmethod
    def from_json(cls, content: JsonObject, where: str) -> "Score":
        """Return the score that a file holds; raise TypeError, KeyError or ValueError if none.

        Args:
            content: what `as_json` returned.
            where: name of the test set, for the message.
        """
        more = object_of(content.get("metrics", {}), "the values of each metric")
        found = {metric_named(name): figures_at(more, name) for name in more}
        if content["accuracies"] is not None:
            found = {ACCURACY: figures_at(content, "accuracies"), **found}
        found[LOSS] = figures_at(content, "losses")
        if not found[LOSS] or len({len(values) for values in found.values()}) > 1:
            raise TypeError(f"{where}: not one number for each test task")
        main = LOSS if content["accuracies"] is None else ACCURACY
        if "main" in content:
            main = metric_named(text_at(content, "main"))
        if main not in found:
            raise TypeError(f"{where}: no values of its main metric {main.name}")
        return cls(
            {metric: np.asarray(values, dtype=np.float64) for metric, values in found.items()},
            main,
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
