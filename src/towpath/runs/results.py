"""The results of a study: each weighter's test score and its difference from the baseline's."""

from dataclasses import dataclass, replace

import numpy as np

from towpath.metrics import Metric
from towpath.runs.advice import corrected
from towpath.runs.differences import PairedDifference, SeedDifferences
from towpath.runs.study import Study
from towpath.runs.task_values import TaskValues


@dataclass(frozen=True)
class WeighterResult:
    """The result of a weighter on a test set, over its finished seeds."""

    label: str
    metric: Metric
    mean: float
    interval: float
    """half-width of the 95% interval over test tasks, each task being its mean over seeds"""
    by_seed: tuple[float, ...]
    worst_tenth: float
    tasks: int
    difference: PairedDifference | None
    """difference from the baseline on the same tasks and seeds; None for the baseline itself"""
    paired_seeds: int
    ahead: int = 0
    """in how many of these seeds it is better than the baseline"""
    left_out: int = 0
    """number of the tasks on which the metric is undefined"""
    chance: float = 1.0
    """the p-value of the difference, corrected for the number of weighters compared"""


def test_sets(study: Study) -> list[str]:
    """Return the names of all test sets that some run of the study was evaluated on."""
    return list(dict.fromkeys(name for run in study.all for name in run.scores))


def other_metrics(study: Study, test: str) -> list[Metric]:
    """Return the metrics of a test set beside the main one."""
    scores = [run.scores[test] for run in study.all if test in run.scores]
    return list(dict.fromkeys(metric for score in scores for metric in score.others))


def results(study: Study, test: str, metric: Metric | None = None) -> dict[str, WeighterResult]:
    """Return the result on a test set of each weighter that has a finished run.

    Args:
        study: the runs to compare.
        test: the test set.
        metric: the metric of the results; None for the main one.
    """
    found: dict[str, WeighterResult] = {}
    base = _by_seed(study, study.baseline, test, metric)
    for label in study.labels:
        own = _by_seed(study, label, test, metric)
        if not own:
            continue
        scores = list(own.values())
        differences = SeedDifferences.between(own, base) if label != study.baseline else None
        found[label] = WeighterResult(
            label=label,
            metric=scores[0].metric,
            mean=float(np.mean([score.mean for score in scores])),
            interval=TaskValues.interval_over_seeds(scores),
            by_seed=tuple(score.mean for score in scores),
            worst_tenth=float(np.mean([score.worst_tenth for score in scores])),
            tasks=len(scores[0].values),
            difference=None if differences is None else differences.pooled,
            paired_seeds=0 if differences is None else len(differences.seeds),
            ahead=0 if differences is None else differences.ahead(scores[0].metric),
            left_out=scores[0].left_out,
        )
    chances = corrected({label: r.difference for label, r in found.items() if r.difference})
    return {label: replace(r, chance=chances.get(label, 1.0)) for label, r in found.items()}


def _by_seed(study: Study, label: str, test: str, metric: Metric | None) -> dict[int, TaskValues]:
    """Return a metric by seed, without scores on another number of tasks than the study's first.

    Args:
        study: the runs to compare.
        label: the weighter.
        test: the test set.
        metric: the metric; None for the main one of the study's first score.
    """
    all_scores = [run.scores[test] for run in study.all if test in run.scores]
    if not all_scores:
        return {}
    first = all_scores[0]
    wanted = first.metric if metric is None else metric
    scores = {run.seed: run.scores[test] for run in study.runs.get(label, ()) if test in run.scores}
    return {
        seed: score.of(wanted)
        for seed, score in scores.items()
        if wanted in score.by_metric and len(score.values) == len(first.values)
    }
