"""How good a learner is: accuracy over fixed tasks, with an interval, compared pairwise.

Methods are always compared on the same tasks, so a difference is taken task by task before it is
averaged: its interval is much narrower than those of the two means.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats
from torch import Tensor

from towpath.objective import Objective

Array = npt.NDArray[np.float64]
SIDE_BY_SIDE = 8
"""tasks asked for together, so that the workers share them; the scores do not depend on it"""


@dataclass(frozen=True, eq=False)
class Score:
    """Accuracy (or, for regression, only the loss) of each task."""

    accuracies: Array | None
    losses: Array

    @property
    def values(self) -> Array:
        """What is compared: accuracies where there are classes, losses otherwise."""
        return self.losses if self.accuracies is None else self.accuracies

    @property
    def mean(self) -> float:
        """Mean over tasks."""
        return float(self.values.mean())

    @property
    def interval(self) -> float:
        """Half-width of the 95% interval of the mean."""
        return half_width(self.values)

    @property
    def worst_tenth(self) -> float:
        """Mean over the worst tenth of the tasks."""
        count = max(1, len(self.values) // 10)
        ordered = np.sort(self.values)
        worst = ordered[:count] if self.accuracies is not None else ordered[-count:]
        return float(worst.mean())

    def summary(self) -> dict[str, Any]:
        """Plain numbers for a summary file."""
        return {
            "mean": self.mean,
            "interval": self.interval,
            "worst_tenth": self.worst_tenth,
            "tasks": len(self.values),
            "loss": float(self.losses.mean()),
            "metric": "loss" if self.accuracies is None else "accuracy",
        }


@dataclass(frozen=True)
class PairedDifference:
    """Mean of a - b over the same tasks, half-width of its 95% interval, two-sided p-value."""

    mean: float
    interval: float
    p_value: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval excludes no difference."""
        return abs(self.mean) > self.interval


def evaluate(
    objective: Objective,
    params: Mapping[str, Tensor],
    tasks: Iterable[Any],
    *,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Score:
    """Score of the parameters on the tasks, one forward pass each; `progress` hears how many."""
    losses: list[float] = []
    accuracies: list[float] = []
    source = iter(tasks)
    while batch := list(islice(source, SIDE_BY_SIDE * objective.ranks.size)):
        said = objective.evaluate(params, batch, gradients=False, seed=seed, first=len(losses))
        losses += said.losses.tolist()
        if said.accuracies is not None:
            accuracies += said.accuracies.tolist()
        if progress is not None:
            progress(len(losses))
    if not losses:
        raise ValueError("evaluate found no task; expected at least one.")
    return Score(np.array(accuracies) if accuracies else None, np.array(losses))


def half_width(values: Sequence[float] | Array) -> float:
    """Half-width of the 95% interval of a mean (Student's t); infinite for a single value."""
    n = len(values)
    if n < 2:
        return math.inf
    quantile = float(stats.t.ppf(0.975, n - 1))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(n)


def paired_difference(a: Array, b: Array) -> PairedDifference:
    """a - b, task by task: Student's paired t-test; one task alone is no evidence (p-value 1)."""
    if len(a) != len(b):
        raise ValueError(
            f"Found {len(a)} and {len(b)} tasks; expected the same tasks in both runs. Evaluate "
            "both with the same number of tasks and the same seed."
        )
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    mean, width = float(difference.mean()), half_width(difference)
    n = len(difference)
    if n < 2 or mean == 0.0:
        return PairedDifference(mean, width, 1.0)
    error = float(np.std(difference, ddof=1)) / math.sqrt(n)
    if error == 0.0:
        return PairedDifference(mean, width, 0.0)
    return PairedDifference(mean, width, 2.0 * float(stats.t.sf(abs(mean) / error, n - 1)))
