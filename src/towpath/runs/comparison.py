"""The outcome of a comparison: the finished runs, and how they differ from the baseline.

It is stored as `comparison.json` in the comparison's folder; what is compared is described in
`comparison_spec.py`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from towpath.files import write
from towpath.metrics import Metric, metric_named
from towpath.recipes.typed import RecipeError
from towpath.runs.advice import Advice, Candidate, Setting, advised, corrected
from towpath.runs.belonging import regular_bytes
from towpath.runs.differences import SeedDifferences
from towpath.runs.plain import (
    Json,
    JsonObject,
    count_at,
    figure_at,
    json_file,
    known_at,
    number_at,
    object_of,
    text_at,
)
from towpath.runs.summary import Summary

RESULT = "comparison.json"
BASELINE = "uniform"


@dataclass(frozen=True)
class ComparedRun:
    """A finished run of a comparison, with its summary and its cost relative to the baseline."""

    label: str
    folder: str
    """its name in the comparison's folder"""
    summary: Summary
    overhead: float | None = None
    """seconds per step divided by those of the baseline's run with the same seed; None where that
    run is not finished"""

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the run again."""
        content = {"label": self.label, "folder": self.folder, **self.summary.as_json()}
        if self.overhead is not None:
            content["timing"] = {**self.summary.timing.as_json(), "overhead": self.overhead}
        return content

    @classmethod
    def from_json(cls, content: JsonObject) -> "ComparedRun":
        """Return the run that a file holds; raise TypeError or KeyError if incomplete."""
        return cls(
            text_at(content, "label"),
            text_at(content, "folder"),
            Summary.from_json(content),
            known_at(object_of(content["timing"], "the times of a run"), "overhead"),
        )


@dataclass(frozen=True)
class MetricOutcome:
    """A metric of a weighter on a test set, over its finished seeds."""

    mean: float
    interval: float
    """half-width of the 95% interval over test tasks, each task being its mean over seeds"""
    left_out: int = 0
    """number of test tasks on which the metric is undefined"""
    difference: SeedDifferences | None = None
    """difference from the baseline; None for the baseline itself"""

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the outcome."""
        return {
            "mean": self.mean,
            "interval": self.interval,
            "left_out": self.left_out,
            "difference": None if self.difference is None else self.difference.as_json(),
        }

    @classmethod
    def from_json(cls, content: JsonObject) -> "MetricOutcome":
        """Return the outcome that a file holds; raise TypeError or KeyError if incomplete."""
        found = content["difference"]
        return cls(
            figure_at(content, "mean"),
            figure_at(content, "interval"),
            count_at(content, "left_out"),
            None if found is None else SeedDifferences.from_json(object_of(found, "a difference")),
        )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The content of `comparison.json`: finished runs, and their differences from the baseline."""

    recipe: str
    synthetic: bool
    """whether the data are generated rather than downloaded or the user's own"""
    weighters: Sequence[str]
    """labels, in the order in which they were requested"""
    seeds: Sequence[int]
    baseline: str
    """label of the weighter that the others are compared with"""
    runs: Sequence[ComparedRun]
    differences: Mapping[str, Mapping[str, SeedDifferences]]
    """differences of the main metric from the baseline, by label and test set"""
    intervals: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """half-widths of the 95% intervals of the weighters' means, by label and test set; comparisons
    of towpath 0.1 have none, nor has a single test task"""
    others: Mapping[str, Mapping[str, Mapping[Metric, MetricOutcome]]] = field(default_factory=dict)
    """the metrics beside the main one, by label and test set; empty where accuracy and loss are all
    that the test tasks have"""

    @property
    def title(self) -> str:
        """The name of the recipe, with a remark where its data are synthetic."""
        return self.recipe + (" (synthetic data)" if self.synthetic else "")

    @property
    def tests(self) -> list[str]:
        """The names of the test sets; empty where no run is finished."""
        return list(self.runs[0].summary.test) if self.runs else []

    def of(self, label: str) -> list[ComparedRun]:
        """Return the finished runs of the weighter with this label, one for each seed."""
        return [run for run in self.runs if run.label == label]

    def metric(self, test: str) -> Metric:
        """Return the main metric of a test set."""
        return self.runs[0].summary.test[test].metric

    @property
    def advice(self) -> Advice | None:
        """Which weighter to use by the first test set; None where nothing can be compared."""
        for test in self.tests[:1]:
            metric = self.metric(test)
            tasks = self.runs[0].summary.test[test].tasks
            found = [
                Candidate(label, own[test].pooled, len(own[test].seeds), own[test].ahead(metric))
                for label, own in self.differences.items()
                if test in own
            ]
            return advised(found, Setting(self.baseline, test, metric, tasks))
        return None

    def chances(self, test: str, metric: Metric | None = None) -> dict[str, float]:
        """Return the p-values of the differences from the baseline, corrected for their number.

        Args:
            test: the test set.
            metric: one of the metrics beside the main one; None for the main one.
        """
        found = {label: own.get(test) for label, own in self.differences.items()}
        if metric is not None:
            others = {label: sets.get(test, {}).get(metric) for label, sets in self.others.items()}
            found = {label: one.difference for label, one in others.items() if one is not None}
        return corrected({label: one.pooled for label, one in found.items() if one is not None})

    def other_metrics(self, test: str) -> list[Metric]:
        """Return the metrics of a test set beside the main one."""
        return list(
            dict.fromkeys(metric for sets in self.others.values() for metric in sets.get(test, {}))
        )

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the comparison."""
        content: dict[str, Json] = {
            "recipe": self.recipe,
            "synthetic": self.synthetic,
            "weighters": self.weighters,
            "seeds": self.seeds,
            "baseline": self.baseline,
            "runs": [run.as_json() for run in self.runs],
            "differences": {
                label: {name: one.as_json() for name, one in sets.items()}
                for label, sets in self.differences.items()
            },
            "intervals": {label: dict(sets) for label, sets in self.intervals.items()},
        }
        if (advice := self.advice) is not None:
            # for readers of the file: it follows from the differences
            content["advice"] = {"weighter": advice.weighter, "sentence": advice.sentence()}
        if self.others:
            content["others"] = {
                label: {
                    name: {metric.name: one.as_json() for metric, one in by_metric.items()}
                    for name, by_metric in sets.items()
                }
                for label, sets in self.others.items()
            }
        return content

    @classmethod
    def from_json(cls, content: JsonObject) -> "Comparison":
        """Return the comparison that a file holds; raise TypeError or KeyError if incomplete."""
        by_label = object_of(content["differences"], "differences by label")
        return cls(
            recipe=text_at(content, "recipe"),
            synthetic=bool(content.get("synthetic", False)),
            weighters=[str(label) for label in _listed(content, "weighters")],
            seeds=[count_at({"seed": seed}, "seed") for seed in _listed(content, "seeds")],
            baseline=text_at(content, "baseline"),
            runs=[
                ComparedRun.from_json(object_of(run, "a run")) for run in _listed(content, "runs")
            ],
            differences={
                label: {
                    name: SeedDifferences.from_json(object_of(one, "a difference"))
                    for name, one in object_of(sets, "differences by test set").items()
                }
                for label, sets in by_label.items()
            },
            intervals={
                label: {name: number_at(one, name) for name in one}
                for label, one in _objects(content.get("intervals", {}))
            },
            others={
                label: {
                    name: {
                        metric_named(key): MetricOutcome.from_json(one)
                        for key, one in _objects(by_metric)
                    }
                    for name, by_metric in sets.items()
                }
                for label, sets in _objects(content.get("others", {}))
            },
        )


def _objects(content: Json) -> Iterator[tuple[str, JsonObject]]:
    for label, inside in object_of(content, "objects by label").items():
        yield label, object_of(inside, "an object")


def _listed(content: JsonObject, key: str) -> Sequence[Json]:
    value = content[key]
    if not isinstance(value, list):
        raise TypeError(f"{key} is {repr(value)[:80]}, not a list")
    return value


def write_comparison(path: Path, result: Comparison) -> None:
    """Write the outcome as `comparison.json` into the comparison's folder."""
    write(path / RESULT, json_file(result.as_json()))


def read_comparison(path: Path) -> Comparison:
    """Return the outcome stored in a comparison's folder.

    Raises:
        RecipeError: if its `comparison.json` is not what `towpath compare` writes.
    """
    content = regular_bytes(path / RESULT, "what `towpath compare` wrote")
    try:
        return Comparison.from_json(object_of(json.loads(content), "a comparison"))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecipeError(
            f"{path / RESULT} is not readable ({type(error).__name__}: {error}); expected what "
            f"`towpath compare` wrote. Delete it and run: towpath resume {path}"
        ) from error
