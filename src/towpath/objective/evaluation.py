"""The request for an evaluation of a mini-batch of tasks, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from towpath.curvature.choice import CurvatureKind, CurvatureUsed
from towpath.distributed.ranks import Ranks
from towpath.label_evidence import label_evidences
from towpath.learners.statistics import StatisticsUpdate
from towpath.objective.gradients import Columns, Rows
from towpath.objective.task import TaskOutputs


@dataclass(frozen=True)
class Curvature:
    """A request for curvature: the kind of diagonal, and weights `[j, M]` of the sums."""

    kind: CurvatureKind
    weights: Tensor
    probes: int = 1


@dataclass(frozen=True, eq=False)
class KnownOutputs:
    """The outputs of the rank's own tasks, kept until somebody asks what their labels mean."""

    own: Sequence[TaskOutputs | None]
    losses: Tensor
    """`[M]`, of all tasks"""
    ranks: Ranks

    def evidence(self) -> Tensor:
        """Return the evidence of all M tasks, NaN where there is none."""
        values = self.losses.new_full((len(self.own), 1), torch.nan)
        counted = [None if one is None else one.telling() for one in self.own]
        for row, z in zip(values, label_evidences(counted), strict=True):
            if z is not None:
                row.copy_(z)
        return self.ranks.gathered(values, len(self.losses))[:, 0]


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
    outputs: KnownOutputs | None = None
    """what the evidence is computed of"""

    @cached_property
    def evidence(self) -> Tensor:
        """The evidence `[M]` that the tasks' labels mean something; NaN where a task has none.

        It is computed when it is first asked for; with several ranks, by all of them.
        """
        if self.outputs is None:
            return torch.full_like(self.losses, torch.nan)
        return self.outputs.evidence()

    @property
    def gradients(self) -> Tensor:
        """The gradients `[M, P]`, one row per task, gathered from all ranks."""
        return self.held.whole()

    def bad_indices(self) -> list[int]:
        """Return the indices of tasks whose loss or gradient is not finite."""
        return [i for i, finite in enumerate(self.finite.tolist()) if not finite]
