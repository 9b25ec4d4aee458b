"""The state that training carries from one window to the next, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from towpath.dynamics import OptimiserState
from towpath.runs.trust import ALL_TRUSTED, Trust


@dataclass(frozen=True, eq=False)
class TrainState:
    """The immutable state of training; each training step returns a new one."""

    # the learner
    params: dict[str, Tensor]
    optimizer: OptimiserState
    # the weighter's memory: plain numbers, strings and lists, and tensors under `tensors`
    weighter_state: Mapping[str, Any] | None = None
    # where training stands
    step: int = 0
    """number of mini-batches trained on"""
    window: int = 0
    """number of windows taken from the stream, failed ones included"""
    failures: int = 0
    """number of consecutive windows whose plan failed"""
    # what it took so far
    evaluations: float = 0.0
    """mini-batch evaluations of losses and gradients"""
    tasks: int = 0
    """number of tasks trained on"""
    # the trusted tasks that it leaves out
    trust: Trust = ALL_TRUSTED
