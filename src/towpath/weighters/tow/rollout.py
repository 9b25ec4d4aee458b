"""What a rollout through a window leaves behind: for its plan, and for the model of it.

Stages are held at the rank's own coordinates; in one process these are all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from towpath.dynamics import State
from towpath.weighters.muted import Muted


@dataclass(frozen=True, eq=False)
class CostTerms:
    """A stage's cost: gradient `[P]`, curvature `[P]`, gradients of two halves of the tasks."""

    c_x: Tensor
    C_xx: Tensor
    halves: Tensor | None = None
    """`[2, P]`, with targets only"""


@dataclass(frozen=True, eq=False)
class StagePoint:
    """What one stage of a rollout leaves for its model, at the rank's own coordinates."""

    state: State
    weights: Tensor
    gradient: Tensor
    J: Tensor
    gam: Tensor
    cost: CostTerms | None
    whole_x: Tensor | None
    """`[P]`, where the true Hessian will be asked for products"""


@dataclass(frozen=True, eq=False)
class Rollout:
    """The payload of a trajectory."""

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
    """tasks and targets whose numbers are not finite"""
    counted: list[Tensor]
    """losses of single tasks that make up the cost, stage by stage, float64"""
    buffers: Mapping[str, Tensor] = field(default_factory=dict)
    """the model's buffers after the steps, where they were those of training"""
    trained: bool = True
    """whether the steps were those of training: on whole tasks"""


class Coordinates(Sequence[Tensor]):
    """z_t `[k, P]` of a trajectory as the model sees it, stacked when asked for: the states
    themselves are kept anyway."""

    def __init__(self, states: list[State], *, frozen: bool) -> None:
        self.states, self.frozen = states, frozen

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, t: Any) -> Any:
        return coordinates(self.states[t], frozen=self.frozen)


def coordinates(state: State, *, frozen: bool) -> Tensor:
    """z `[k, P]`: with the moments, or x alone where they are frozen."""
    return state.x[None] if frozen else state.z


def stacked_accuracies(rows: Sequence[Tensor | None]) -> Tensor | None:
    """`[T, M]`; zeros where a whole mini-batch is muted, None where the tasks have no classes."""
    known = [row for row in rows if row is not None]
    if not known:
        return None
    return torch.stack([torch.zeros_like(known[0]) if row is None else row for row in rows])
