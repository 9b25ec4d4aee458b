"""From the finished runs of a comparison to its outcome."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from towpath.data.registry import is_synthetic
from towpath.metrics import Metric
from towpath.runs.comparison import BASELINE, ComparedRun, Comparison, MetricOutcome
from towpath.runs.comparison_spec import ComparisonSpec
from towpath.runs.differences import SeedDifferences
from towpath.runs.scores import Score
from towpath.runs.summary import Summary
from towpath.runs.task_values import TaskValues


def compared(comparison: ComparisonSpec | Path) -> Comparison:
    """Collect the results of the finished runs and their paired differences from the baseline.

    Args:
        comparison: what is compared, or the folder of a comparison.
    """
    spec = comparison
    if not isinstance(spec, ComparisonSpec):
        spec = ComparisonSpec.read(spec)
    labels, runs = spec.labels, list(spec.runs())
    baseline = BASELINE if BASELINE in labels else labels[0]
    for run in runs:
        spec.check_place(run)
    found: list[tuple[str, str, Summary]] = []
    scores: dict[str, dict[int, dict[str, Score]]] = {label: {} for label in labels}
    for run in runs:
        label = run.contestant.label
        summary, own = run.folder.summary(), run.folder.evaluations()
        if summary is not None and own is not None:
            scores[label][run.seed] = own
            found.append((label, run.name, summary))
    per_step = {s.seed: s.timing.seconds_per_step for label, _, s in found if label == baseline}
    return Comparison(
        recipe=spec.recipe.name,
        synthetic=is_synthetic(spec.recipe.data.name),
        weighters=labels,
        seeds=list(spec.seeds),
        baseline=baseline,
        runs=[
            ComparedRun(
                label,
                name,
                summary,
                summary.timing.seconds_per_step / base
                if (base := per_step.get(summary.seed))
                else None,
            )
            for label, name, summary in found
        ],
        differences={
            label: _differences(scores[label], scores[baseline])
            for label in labels
            if label != baseline
        },
        intervals={label: _intervals(own) for label, own in scores.items() if own},
        others={
            label: others
            for label, own in scores.items()
            if (others := _others(own, scores[baseline] if label != baseline else {}))
        },
    )


def _intervals(own: Mapping[int, Mapping[str, Score]]) -> dict[str, float]:
    """Return the interval of a weighter's mean over its seeds, by test set."""
    by_set = {
        name: TaskValues.interval_over_seeds([scores[name].main for scores in own.values()])
        for name in next(iter(own.values()))
    }
    return {name: width for name, width in by_set.items() if math.isfinite(width)}


def _differences(
    own: Mapping[int, Mapping[str, Score]], base: Mapping[int, Mapping[str, Score]]
) -> dict[str, SeedDifferences]:
    """Return the differences by test set, over the seeds that both weighters finished."""
    both = [seed for seed in own if seed in base]
    result: dict[str, SeedDifferences] = {}
    for name in own[both[0]] if both else ():
        difference = SeedDifferences.between(
            {seed: own[seed][name].main for seed in both},
            {seed: base[seed][name].main for seed in both},
        )
        if difference is not None:  # else the metric is undefined on every task
            result[name] = difference
    return result


def _others(
    own: Mapping[int, Mapping[str, Score]], base: Mapping[int, Mapping[str, Score]]
) -> dict[str, dict[Metric, MetricOutcome]]:
    """Return the metrics beside the main one by test set; empty where there are none.

    Args:
        own: the scores of a weighter, by seed and test set.
        base: those of the baseline; empty where the weighter is the baseline.
    """
    result: dict[str, dict[Metric, MetricOutcome]] = {}
    for name in next(iter(own.values())) if own else ():
        for metric in dict.fromkeys(m for scores in own.values() for m in scores[name].others):
            values, theirs = _of_metric(own, name, metric), _of_metric(base, name, metric)
            result.setdefault(name, {})[metric] = MetricOutcome(
                mean=float(np.mean([one.mean for one in values.values()])),
                interval=TaskValues.interval_over_seeds(list(values.values())),
                left_out=next(iter(values.values())).left_out,
                difference=SeedDifferences.between(values, theirs),
            )
    return result


def _of_metric(
    scores: Mapping[int, Mapping[str, Score]], test: str, metric: Metric
) -> dict[int, TaskValues]:
    """Return a metric on a test set by seed, without runs of a release that did not have it."""
    return {
        seed: by_set[test].of(metric)
        for seed, by_set in scores.items()
        if metric in by_set[test].by_metric
    }
