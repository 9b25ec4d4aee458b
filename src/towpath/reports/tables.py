"""Tables of a comparison for the terminal."""

import math
from collections.abc import Sequence

from rich.table import Table

from towpath.metrics import Metric
from towpath.runs.advice import LEVEL, correction_words
from towpath.runs.comparison import Comparison, MetricOutcome
from towpath.runs.differences import SeedDifferences


def comparison_table(result: Comparison) -> Table:
    """Return a table with one row per weighter: means over seeds, differences from the baseline."""
    table = _titled(result, f"{len(result.seeds)} seed(s)")
    table.add_column("weighter")
    for test in result.tests:
        table.add_column(f"{test}\n{_heading(result.metric(test))}", justify="right")
        table.add_column(f"minus {result.baseline}\n(95% interval)", justify="right")
    table.add_column("worst\ntenth", justify="right")
    table.add_column("wrong : clean\nweight", justify="right")
    table.add_column("gradient\nevaluations", justify="right")
    table.add_column("training\nseconds", justify="right")
    table.add_column("overhead", justify="right")
    for label in result.weighters:
        table.add_row(*_row(result, label))
    return table


def _row(result: Comparison, label: str) -> list[str]:
    runs = result.of(label)
    if not runs:
        return [label, "not run"]
    summaries = [run.summary for run in runs]
    partly = f" ({len(runs)} of {len(result.seeds)} seeds)"
    cells = [label + partly if len(runs) < len(result.seeds) else label]
    for test in result.tests:
        scores = [summary.test[test] for summary in summaries]
        metric = scores[0].metric
        mean = _mean([score.mean for score in scores])
        of_each = _mean([score.interval for score in scores])  # comparisons of 0.1 have no other
        width = result.intervals.get(label, {}).get(test, of_each)
        cells += [_with_interval(mean, width, metric), _change(result, label, test, metric)]
    ratios = [s.weight_by_label.ratio for s in summaries if s.weight_by_label]
    overheads = [run.overhead for run in runs if run.overhead]
    return [
        *cells,
        summaries[0].score.metric.shown(_mean([s.score.worst_tenth for s in summaries])),
        f"{_mean(ratios):.2f} : 1" if ratios else "-",
        f"{_mean([summary.evaluations for summary in summaries]):.0f}",
        f"{_mean([summary.timing.training_seconds for summary in summaries]):.0f}",
        f"{_mean(overheads):.2f}x" if overheads else "-",
    ]


def metrics_table(result: Comparison) -> Table | None:
    """Return a table of the metrics beside the main ones; None where there are none."""
    if not any(result.other_metrics(test) for test in result.tests):
        return None
    table = _titled(result, "other metrics")
    table.add_column("test set")
    table.add_column("metric")
    table.add_column("weighter")
    table.add_column("mean\n(95% interval)", justify="right")
    table.add_column(f"minus {result.baseline}\n(95% interval)", justify="right")
    table.add_column("left out", justify="right")
    for test in result.tests:
        for metric in result.other_metrics(test):
            chances = result.chances(test, metric)
            for label in result.weighters:
                found = result.others.get(label, {}).get(test, {}).get(metric)
                if found is not None:
                    chance = None if label == result.baseline else chances.get(label, 1.0)
                    table.add_row(test, _heading(metric), label, *_cells(found, metric, chance))
    return table


def _titled(result: Comparison, what: str) -> Table:
    """Return an empty table that says below itself what its mark means."""
    table = Table(title=f"{result.title}: {what}", title_justify="left", caption_justify="left")
    if result.differences:
        corrected = correction_words(list(result.differences))
        table.caption = f"(n.s.): not significant, p > {LEVEL:g} over test tasks{corrected}"
    return table


def _cells(found: MetricOutcome, metric: Metric, chance: float | None) -> list[str]:
    change = "-" if chance is None else _difference(found.difference, metric, chance)
    return [_with_interval(found.mean, found.interval, metric), change, str(found.left_out)]


def _heading(metric: Metric) -> str:
    return f"{metric.words} %" if metric.percent else metric.words


def _with_interval(mean: float, width: float, metric: Metric) -> str:
    width = width if math.isfinite(width) else 0.0  # a single test task has no interval
    return f"{metric.shown(mean)} ±{metric.shown(width)}"


def _change(result: Comparison, label: str, test: str, metric: Metric) -> str:
    """Return the paired difference from the baseline, pooled over seeds, as text."""
    if label == result.baseline:
        return "-"
    found = result.differences.get(label, {}).get(test)
    return _difference(found, metric, result.chances(test).get(label, 1.0))


def _difference(difference: SeedDifferences | None, metric: Metric, chance: float) -> str:
    """Return a difference as text; the mark tells one that is not significant.

    Args:
        difference: the difference from the baseline; None where it is not known.
        metric: what it is a difference of.
        chance: its p-value, corrected for the number of weighters.
    """
    if difference is None:
        return "not run"
    pooled = difference.pooled
    mark = "" if chance <= LEVEL else " (n.s.)"
    return f"{metric.shown(pooled.mean, sign=True)} ±{metric.shown(pooled.interval)}{mark}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
