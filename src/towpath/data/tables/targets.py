"""Standardised targets of a regression task, by what is known before a prediction is made.

A task's targets are centred by the mean of its support set. Their scale comes from the support set
as well, whose n numbers are few; so its variance is averaged with the variance of all targets of
the training tasks, which counts as two further numbers:

    mean = mean of the support targets,   scale^2 = (n var(support) + 2 var(training)) / (n + 2)

Nothing of the query set enters, so that the same numbers undo the scaling of a prediction. A
support set whose targets happen to be nearly equal cannot make the scale vanish: it is at least
`sqrt(2 / (n + 2))` of the training spread. Tasks in units of very different size therefore do not
belong into one table: those of small units would hardly count.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

TRAINING_COUNTS = 2
"""how many numbers of the support set the training tasks' variance counts for"""


@dataclass(frozen=True)
class TargetScale:
    """The mean and scale that standardise the targets of one task."""

    mean: float
    scale: float

    @classmethod
    def of(cls, support: NDArray[Any], spread: float) -> "TargetScale":
        """Return the scale of a task.

        Args:
            support: the targets of its support set.
            spread: standard deviation of the targets of the training tasks; positive.
        """
        values = np.asarray(support, dtype=np.float64)
        n = len(values)
        variance = (n * float(values.var()) + TRAINING_COUNTS * spread**2) / (n + TRAINING_COUNTS)
        return cls(float(values.mean()), math.sqrt(variance))

    def apply(self, targets: NDArray[Any]) -> NDArray[np.float32]:
        """Return targets in standardised units."""
        return ((np.asarray(targets, dtype=np.float64) - self.mean) / self.scale).astype(np.float32)

    def undo(self, outputs: NDArray[Any]) -> NDArray[np.float64]:
        """Return predictions in the units of the table."""
        return np.asarray(outputs, dtype=np.float64) * self.scale + self.mean
