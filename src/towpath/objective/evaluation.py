"""What is asked of a mini-batch of tasks, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from towpath.learners.statistics import StatisticsUpdate
from towpath.objective.gradients import Columns, Rows
from towpath.objective.task import CurvatureKind


@dataclass(frozen=True)
class Curvature:
    """Which diagonal to compute, and the weights `[j, M]` of the sums of it that are wanted."""

    kind: CurvatureKind
    weights: Tensor
    probes: int = 1


@dataclass(frozen=True)
class Evaluation:
    """Losses `[M]`, accuracies `[M]` if any, losses `[M]` of the parts that were watched, and what
    the derivatives are held as.

    Curvatures `[j, P]` are held at the rank's own coordinates: all of them in one process.
    """

    losses: Tensor
    finite: Tensor
    """`[M]`, whether a task's loss and gradient are"""
    held: Rows | Columns
    accuracies: Tensor | None
    curvature: Tensor | None
    watched: Tensor | None = None
    updates: Sequence[StatisticsUpdate] = ()
    """what the passes of the rank's own tasks add to running statistics, in task order"""

    @property
    def gradients(self) -> Tensor:
        """`[M, P]`, one row a task; gathered from all ranks where there are several."""
        return self.held.whole()

    def bad_indices(self) -> list[int]:
        """Tasks with a loss or a gradient that is not finite."""
        return [int(i) for i in (~self.finite).nonzero()[:, 0]]
