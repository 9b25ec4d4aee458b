"""How soon the weighters of a study reach the final validation score of its baseline."""

from dataclasses import dataclass

from towpath.runs.run_data import Check, RunData
from towpath.runs.smoothing import ENOUGH_TO_SMOOTH, moving_average
from towpath.runs.study import Study


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
