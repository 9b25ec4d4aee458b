"""Run folders as series of numbers, for tables and figures. Nothing else is read."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towpath.training.folder import RunFolder


@dataclass(frozen=True)
class RunSeries:
    """What a run's records say over time."""

    label: str
    seed: int
    validation: list[tuple[int, float]]
    """(step, score)"""
    bad: list[tuple[int, float]]
    """(step, mean weight of the mini-batch's mislabelled tasks over its mean weight)"""
    good: list[tuple[int, float]]
    agreement: list[tuple[int, float]]
    effective: list[tuple[int, float]]


def read_series(path: Path, label: str, seed: int) -> RunSeries:
    """The series of a run folder, finished or not."""
    series = RunSeries(label, seed, [], [], [], [], [])
    for record in RunFolder(path).records():
        step = int(record.get("step", 0))
        if "validation" in record:
            series.validation.append((step, record["validation"]["mean"]))
        elif "probe" not in record and "weights" in record:
            _add_weights(series, step, record)
            plan = record.get("plan") or {}
            if plan.get("agreement") is not None:
                series.agreement.append((step, plan["agreement"]))
            if plan.get("effective_tasks"):
                values = plan["effective_tasks"]
                series.effective.append((step, sum(values) / len(values)))
    return series


def _add_weights(series: RunSeries, step: int, record: dict[str, Any]) -> None:
    weights = record["weights"]
    mean = sum(weights) / len(weights)
    if not mean:
        return
    for wrong, line in ((True, series.bad), (False, series.good)):
        own = [
            w / mean
            for w, task in zip(weights, record["tasks"], strict=True)
            if bool(task.get("mislabelled")) is wrong
        ]
        if own:
            line.append((step, sum(own) / len(own)))


def smoothed(points: Iterable[tuple[int, float]], factor: float = 0.1) -> list[tuple[int, float]]:
    """Exponential moving average, as in the paper's figures."""
    result: list[tuple[int, float]] = []
    level: float | None = None
    for step, value in points:
        level = value if level is None else (1 - factor) * level + factor * value
        result.append((step, level))
    return result
