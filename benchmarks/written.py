"""A page of docs/results as its JSON file has it: what tables, index and README are made of."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scipy.stats import t as student

from benchmarks.experiments import EXPERIMENTS
from towpath.metrics import Metric, metric_named
from towpath.recipes.recipe import Recipe
from towpath.runs.advice import corrected
from towpath.runs.differences import PairedDifference

DOCS = Path("docs/results")
LEVEL = 0.05


def reading(name: str) -> str:
    """Return what was written by hand about a page, reading-NAME.md; empty if nothing was."""
    file = DOCS / f"reading-{name}.md"
    return file.read_text().strip() if file.is_file() else ""


class Written:
    """A page of docs/results, read from its JSON file."""

    def __init__(self, name: str) -> None:
        self.name, self.about = name, EXPERIMENTS[name].about
        self.content: dict[str, Any] = json.loads((DOCS / f"{name}.json").read_text())
        runs = self.content["runs"]
        self.tests: list[str] = list(runs[0]["test"])
        self.runs: dict[str, list[dict[str, Any]]] = {
            label: [run for run in runs if run["label"] == label]
            for label in self.content["weighters"]
        }

    @property
    def recipe(self) -> Recipe:
        """The recipe of the runs, but for weighter and seed."""
        return Recipe.of(self.content["settings"])

    def noted(self, key: str) -> list[str]:
        """Return the commits that runs have under a key, oldest page entries first.

        Args:
            key: `commit`, with which a run was made, or `brought_by`, which added a run to the
                repository that was made before commits were noted.
        """
        found = dict.fromkeys(run.get(key) for own in self.runs.values() for run in own)
        return [commit for commit in found if commit]

    def metric(self, test: str) -> Metric:
        """Return the main metric of a test set."""
        return metric_named(self.content["runs"][0]["test"][test]["metric"])

    def accuracy(self, label: str, test: str) -> str:
        """Return the mean over the seeds, with the mean half-width of a seed's interval."""
        scores = [run["test"][test] for run in self.runs[label]]
        metric = self.metric(test)
        mean = metric.shown(statistics.fmean(score["mean"] for score in scores))
        return f"{mean} ±{metric.shown(statistics.fmean(score['interval'] for score in scores))}"

    def change(self, label: str, test: str, each: bool = True) -> str:
        """Return the paired difference to the baseline, pooled over the seeds.

        Args:
            label: the weighter.
            test: the test set.
            each: whether the differences of the seeds follow in brackets.
        """
        found = self.content["differences"].get(label, {}).get(test)
        if not found:
            return "-"
        metric = self.metric(test)
        text = shown(found, metric, self._chances(test)[label])
        if each and len(found["seeds"]) > 1:
            seeds = (metric.shown(one["mean"], sign=True) for one in found["seeds"].values())
            text += f" ({', '.join(seeds)})"
        return text

    def _chances(self, test: str) -> dict[str, float]:
        """Return the p-values of all weighters of the page, corrected as `towpath compare` does."""
        return corrected(
            {
                label: PairedDifference.from_json(by_set[test])
                for label, by_set in self.content["differences"].items()
                if test in by_set
            }
        )

    def gains(self, label: str, test: str | None = None) -> dict[str, float]:
        """Return a weighter's paired difference to the baseline by seed, in points."""
        found = self.content["differences"].get(label, {}).get(test or self.tests[0], {})
        return {seed: 100 * one["mean"] for seed, one in found.get("seeds", {}).items()}


def shown(found: dict[str, Any], metric: Metric, p_value: float) -> str:
    """Return a paired difference with its interval, marked where it is not significant."""
    one = PairedDifference.from_json(found)
    mark = "" if p_value < LEVEL else " n.s."
    return f"{metric.shown(one.mean, sign=True)} ±{metric.shown(one.interval)}{mark}"


def over_trainings(values: Sequence[float], digits: int = 1) -> str:
    """Return the mean with the 95% interval over trainings, which needs two of them."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return f"{mean:+.{digits}f}"
    width = float(student.ppf(0.975, len(values) - 1)) * statistics.stdev(values)
    return f"{mean:+.{digits}f} ±{width / len(values) ** 0.5:.{digits}f}"
