"""The request for an evaluation of a mini-batch of tasks, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from towpath.curvature.choice import CurvatureKind, CurvatureUsed
from towpath.learners.statistics import StatisticsUpdate
from towpath.objective.gradients import Columns, Rows


@dataclass(frozen=True)
class Curvature:
    """A request for curvature: the kind of diagonal, and weights `[j, M]` of the sums."""

    kind: CurvatureKind
    weights: Tensor
    probes: int = 1


@dataclass(frozen=True)
class Evaluation:
    """The losses, accuracies and derivatives of a mini-batch of M tasks.

    Losses, accuracies (if any) and the losses `watched` of the monitored query parts are `[M]`.
    Gradients are stored in `held`; curvatures `[j, P]` at the rank's own coordinates, which are all
    coordinates in one process.
    """

    losses: Tensor
    finite: Tensor
    """`[M]`, whether a task's loss and gradient are finite"""
    held: Rows | Columns
    accuracies: Tensor | None
    curvature: Tensor | None
    watched: Tensor | None = None
    updates: Sequence[StatisticsUpdate] = ()
    """what the passes of the rank's own tasks add to running statistics, in task order"""
    curvature_used: frozenset[CurvatureUsed] = frozenset()
    """which curvature the losses of the rank's own tasks allowed, and why; empty without any"""

    @property
    def gradients(self) -> Tensor:
        """The gradients `[M, P]`, one row per task, gathered from all ranks."""
        return self.held.whole()

    def bad_indices(self) -> list[int]:
        """Return the indices of tasks whose loss or gradient is not finite."""
        return [int(i) for i in (~self.finite).nonzero()[:, 0]]
