"""The numbers of a study: test scores, paired differences, cost, and steps to a given score."""

from dataclasses import dataclass

import numpy as np

from towpath.metrics import Metric
from towpath.runs.differences import PairedDifference, SeedDifferences
from towpath.runs.run_data import Check, RunData
from towpath.runs.smoothing import ENOUGH_TO_SMOOTH, moving_average
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
    left_out: int = 0
    """number of the tasks on which the metric is undefined"""


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
            left_out=scores[0].left_out,
        )
    return found


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


@dataclass(frozen=True)
class Cost:
    """The time and work of a weighter, averaged over its seeds."""

    label: str
    seconds: float
    per_step: float
    overhead: float | None
    """seconds per step divided by the baseline's with the same seed"""
    evaluations: float | None
    steps: float
    finished: bool


def costs(study: Study) -> dict[str, Cost]:
    """Return the running time and work of every weighter that trained at least one step."""
    base = {run.seed: _per_step(run) for run in study.runs[study.baseline] if run.seconds}
    found: dict[str, Cost] = {}
    for label in study.labels:
        runs = [run for run in study.seeds(label) if run.steps and run.seconds]
        if not runs:
            continue
        ratios = [_per_step(run) / base[run.seed] for run in runs if base.get(run.seed)]
        counted = [run.summary.evaluations for run in runs if run.summary]
        found[label] = Cost(
            label=label,
            seconds=_mean([run.seconds or 0.0 for run in runs]),
            per_step=_mean([_per_step(run) for run in runs]),
            overhead=_mean(ratios) if ratios else None,
            evaluations=_mean(counted) if counted else None,
            steps=_mean([run.steps for run in runs]),
            finished=all(run.finished for run in runs),
        )
    return found


def _per_step(run: RunData) -> float:
    return (run.seconds or 0.0) / max(1, run.steps)


@dataclass(frozen=True)
class Reached:
    """When a weighter reached the final validation score of the baseline."""

    label: str
    seeds: int
    """seeds that were compared"""
    reached: int
    """seeds that reached it; the means below are over them"""
    steps: float
    tasks: float
    seconds: float | None
    steps_ratio: float
    """steps divided by those that the baseline trained in all"""
    seconds_ratio: float | None


def reached(study: Study) -> tuple[dict[int, float], dict[str, Reached]]:
    """Return the baseline's final validation score by seed, and when each weighter reached it.

    Curves are smoothed as drawn: moving average 0.1 where there are at least 20 validations.
    """
    base = {run.seed: run for run in study.seeds(study.baseline) if run.checks}
    targets = {seed: curve(run)[-1][1] for seed, run in base.items()}
    found: dict[str, Reached] = {}
    for label in study.labels:
        runs = [run for run in study.seeds(label) if run.seed in targets and run.checks]
        if not runs:
            continue
        hits: list[tuple[RunData, Check]] = []
        for run in runs:
            good = run.checks[0].metric.goodness
            goal = targets[run.seed]
            for check, (_, level) in zip(run.checks, curve(run), strict=True):
                if good(level) >= good(goal):
                    hits.append((run, check))
                    break
        seconds = [c.seconds for _, c in hits if c.seconds is not None]
        ratios = [
            c.seconds / total
            for run, c in hits
            if c.seconds is not None and (total := base[run.seed].checks[-1].seconds)
        ]
        found[label] = Reached(
            label=label,
            seeds=len(runs),
            reached=len(hits),
            steps=_mean([c.step for _, c in hits]),
            tasks=_mean([c.tasks for _, c in hits]),
            seconds=_mean(seconds) if seconds else None,
            steps_ratio=_mean([c.step / base[run.seed].checks[-1].step for run, c in hits]),
            seconds_ratio=_mean(ratios) if ratios else None,
        )
    return targets, found


def curve(run: RunData) -> list[tuple[float, float]]:
    """Return (step, validation score) pairs, smoothed where there are at least 20 of them."""
    points = [(float(check.step), check.score) for check in run.checks]
    return moving_average(points) if len(points) >= ENOUGH_TO_SMOOTH else points


def _mean(values: list[float] | list[int]) -> float:
    return float(sum(values) / len(values)) if values else float("nan")
