"""Tables of a comparison for the terminal."""

import math
from collections.abc import Sequence

from rich.table import Table

from towpath.runs.comparison import Comparison


def comparison_table(result: Comparison) -> Table:
    """Return a table with one row per weighter: means over seeds, differences from the baseline."""
    table = Table(title=f"{result.title}: {len(result.seeds)} seed(s)", title_justify="left")
    table.add_column("weighter")
    for test in result.tests:
        table.add_column(f"{test}\naccuracy %", justify="right")
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
        scale = 100.0 if scores[0].is_accuracy else 1.0
        mean = scale * _mean([score.mean for score in scores])
        of_each = _mean([score.interval for score in scores])  # comparisons of 0.1 have no other
        width = result.intervals.get(label, {}).get(test, of_each)
        width = width if math.isfinite(width) else 0.0  # a single test task has no interval
        cells += [f"{mean:.1f} ±{scale * width:.1f}", _change(result, label, test, scale)]
    ratios = [s.weight_by_label.ratio for s in summaries if s.weight_by_label]
    overheads = [run.overhead for run in runs if run.overhead]
    return [
        *cells,
        f"{100 * _mean([summary.score.worst_tenth for summary in summaries]):.1f}",
        f"{_mean(ratios):.2f} : 1" if ratios else "-",
        f"{_mean([summary.evaluations for summary in summaries]):.0f}",
        f"{_mean([summary.timing.training_seconds for summary in summaries]):.0f}",
        f"{_mean(overheads):.2f}x" if overheads else "-",
    ]


def _change(result: Comparison, label: str, test: str, scale: float) -> str:
    """Return the paired difference from the baseline, pooled over seeds, as text."""
    if label == result.baseline:
        return "-"
    difference = result.differences.get(label, {}).get(test)
    if difference is None:
        return "not run"
    pooled = difference.pooled
    mark = "" if pooled.excludes_zero else " (n.s.)"
    return f"{scale * pooled.mean:+.1f} ±{scale * pooled.interval:.1f}{mark}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
