"""Tasks that are left out because their loss or gradient is not finite."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Muted:
    """Tasks whose loss or gradient is not finite, as (stage, index) pairs; they count as zero."""

    tasks: frozenset[tuple[int, int]] = frozenset()
    targets: frozenset[tuple[int, int]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.tasks or self.targets)

    def __or__(self, other: "Muted") -> "Muted":
        return Muted(self.tasks | other.tasks, self.targets | other.targets)

    def at(self, stage: int) -> set[int]:
        """Return the indices of the muted tasks in one mini-batch."""
        return {i for t, i in self.tasks if t == stage}

    def held(self, T: int, M: int) -> Tensor | None:
        """Return a mask `[T, M]` of the actions that have no effect; None if all have one.

        A mini-batch whose tasks are all muted changes nothing, whatever its weights are: none of
        its actions is marked, so that they may sum to 1.
        """
        if not self.tasks:
            return None
        rows = torch.zeros(T, M, dtype=torch.bool, device="cpu")
        for t, i in self.tasks:
            rows[t, i] = True
        return rows & ~rows.all(1, keepdim=True)

    def targets_at(self, stage: int) -> set[int]:
        """Return the indices of the muted targets of one mini-batch."""
        return {i for t, i in self.targets if t == stage}


NOTHING_MUTED = Muted()
