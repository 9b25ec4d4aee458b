"""The data that a rollout through a window stores for its plan and for its model.

Stages are stored at the rank's own coordinates; in one process these are all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from towpath.control import StoredGradients, Trajectory, Work
from towpath.dynamics import State
from towpath.weighters.muted import NOTHING_MUTED, Muted


@dataclass(frozen=True, eq=False)
class CostTerms:
    """A stage's cost: gradient `[P]`, curvature `[P]`, gradients of two halves of the tasks."""

    c_x: Tensor | None
    """None for the sum of the stage's own gradients J, which follows from them"""
    C_xx: Tensor
    halves: Tensor | None = None
    """`[2, P]`, where the cost has halves"""

    def plus(self, other: "CostTerms | None", J: Tensor) -> "CostTerms":
        """Return the sum of the terms of two costs at one state, where the gradients are J."""
        if other is None:
            return self
        mine, others = (J.sum(0) if c_x is None else c_x for c_x in (self.c_x, other.c_x))
        halves = self.halves if other.halves is None else other.halves
        if self.halves is not None and other.halves is not None:
            halves = self.halves + other.halves
        return CostTerms(mine + others, self.C_xx + other.C_xx, halves)


@dataclass(frozen=True, eq=False)
class StagePoint:
    """The data of one stage that its model needs, at the rank's own coordinates.

    The state is not among them: it follows from the first one by the steps before.
    """

    weights: Tensor
    J: StoredGradients
    gam: Tensor
    cost: CostTerms | None
    whole_x: Tensor | None
    """`[P]`, where products with the true Hessian are needed"""


@dataclass(frozen=True, eq=False)
class Rollout:
    """The data that the problem stores with a trajectory."""

    final: State
    losses: Tensor
    """`[T, M]`"""
    accuracies: Tensor | None
    weights: Tensor
    """`[T, M]`, as they entered the steps"""
    points: list[StagePoint]
    """emptied by the last model of the trajectory"""
    terminal: CostTerms | None
    bad: Muted
    """tasks and targets whose loss or gradient is not finite"""
    buffers: Mapping[str, Tensor] = field(default_factory=dict)
    """the model's buffers after the steps, if these were part of training"""
    trained: bool = True
    """whether the steps were those of training: on whole tasks"""


@dataclass(eq=False)
class Walk:
    """The progress of a rollout through a window."""

    # where it is
    state: State
    buffers: Mapping[str, Tensor]
    derivatives: bool
    """whether it will be modelled"""
    trains: bool
    """whether its steps are those of training: on whole tasks"""
    pending: CostTerms | None = None
    """cost at the state, as far as it is of tasks after the last step"""
    # whether it may go on
    finite: bool = True
    feasible: bool = True
    complete: bool = True
    bad: Muted = NOTHING_MUTED
    doubtful: Muted = NOTHING_MUTED
    """tasks of the cost whose loss or gradient is not finite"""
    work: Work = field(default_factory=Work)
    # what it recorded, stage by stage
    actions: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)
    counted: list[Tensor] = field(default_factory=list)
    losses: list[Tensor] = field(default_factory=list)
    accuracies: list[Tensor | None] = field(default_factory=list)
    points: list[StagePoint] = field(default_factory=list)

    def trajectory(self, M: int) -> Trajectory[Rollout]:
        """Return the finished rollout."""
        rows = torch.stack(self.actions) if self.actions else self.state.x.new_zeros(0, M)
        return Trajectory(
            actions=rows,
            state_costs=[float(row.sum()) for row in self.counted],
            finite=self.finite,
            feasible=self.feasible,
            work=self.work,
            kept=Rollout(
                final=self.state,
                losses=torch.stack(self.losses) if self.losses else rows,
                accuracies=stacked_accuracies(self.accuracies),
                weights=torch.stack(self.weights) if self.weights else rows,
                points=self.points,
                terminal=self.pending if self.derivatives else None,
                bad=self.bad | self.doubtful,
                buffers=self.buffers,
                trained=self.trains,
            ),
            task_costs=self.counted,
            complete=self.complete,
        )


class Coordinates(Sequence[Tensor]):
    """The states z_t `[k, P]` of a trajectory as the model sees them, stacked on access."""

    def __init__(self, states: Sequence[State], *, frozen: bool) -> None:
        self.states, self.frozen = states, frozen

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, t: Any) -> Any:
        if isinstance(t, slice):
            return Coordinates(self.states[t], frozen=self.frozen)
        return coordinates(self.states[t], frozen=self.frozen)


def coordinates(state: State, *, frozen: bool) -> Tensor:
    """Return z `[k, P]`: x with the moments, or x alone if they are frozen."""
    return state.x[None] if frozen else state.z


def stacked_accuracies(rows: Sequence[Tensor | None]) -> Tensor | None:
    """Stack accuracies to `[T, M]`, 0 in muted mini-batches; None for tasks without classes."""
    known = [row for row in rows if row is not None]
    if not known:
        return None
    return torch.stack([torch.zeros_like(known[0]) if row is None else row for row in rows])
