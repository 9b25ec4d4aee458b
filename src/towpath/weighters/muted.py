"""Tasks that are left out because their numbers are not finite."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Muted:
    """Tasks whose numbers are not finite: (stage, index) pairs that are evaluated as zero."""

    tasks: frozenset[tuple[int, int]] = frozenset()
    targets: frozenset[tuple[int, int]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.tasks or self.targets)

    def __or__(self, other: "Muted") -> "Muted":
        return Muted(self.tasks | other.tasks, self.targets | other.targets)

    def at(self, stage: int) -> set[int]:
        """Indices of muted tasks in one mini-batch."""
        return {i for t, i in self.tasks if t == stage}

    def held(self, T: int, M: int) -> Tensor | None:
        """`[T, M]`, which actions have no effect; None where all have.

        A mini-batch without a task that is left moves nothing whatever its weights are: none of
        its actions is held, so that they may sum to 1.
        """
        if not self.tasks:
            return None
        rows = torch.zeros(T, M, dtype=torch.bool, device="cpu")
        for t, i in self.tasks:
            rows[t, i] = True
        return rows & ~rows.all(1, keepdim=True)

    def targets_at(self, stage: int) -> set[int]:
        """Indices of muted targets of one mini-batch."""
        return {i for t, i in self.targets if t == stage}


NOTHING_MUTED = Muted()
