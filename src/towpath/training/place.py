"""Where a run's tensors are, and of which dtype."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from towpath.data import Episode


@dataclass(frozen=True)
class Place:
    """The device and dtype of a run's tensors."""

    device: torch.device
    dtype: torch.dtype

    def task(self, task: Episode) -> Episode:
        """Return the task on the device, with inputs (which come as float32) of the dtype."""
        return task.to(self.device, None if self.dtype == torch.float32 else self.dtype)

    def window(self, window: Sequence[Sequence[Episode]]) -> list[list[Episode]]:
        """Return a copy of the window with all of its tasks on the device."""
        return [[self.task(task) for task in batch] for batch in window]


def torch_dtype(name: str) -> torch.dtype:
    """Return the torch dtype for its name in a recipe."""
    return {"float32": torch.float32, "float64": torch.float64}[name]
