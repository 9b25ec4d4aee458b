"""The cost of the weighters of a study: running time and work, beside the baseline's."""

from dataclasses import dataclass

import numpy as np

from towpath.runs.run_data import RunData
from towpath.runs.study import Study


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
            seconds=float(np.mean([run.seconds or 0.0 for run in runs])),
            per_step=float(np.mean([_per_step(run) for run in runs])),
            overhead=float(np.mean(ratios)) if ratios else None,
            evaluations=float(np.mean(counted)) if counted else None,
            steps=float(np.mean([run.steps for run in runs])),
            finished=all(run.finished for run in runs),
        )
    return found


def _per_step(run: RunData) -> float:
    return (run.seconds or 0.0) / max(1, run.steps)
