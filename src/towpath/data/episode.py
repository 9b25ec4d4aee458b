"""One task of few-shot learning: a support set to adapt on, a query set to be judged on.

Shapes: `support_x [S, ...]`, `support_y [S]`, `query_x [Q, ...]`, `query_y [Q]`. Labels of a
classification task are integers 0..ways-1; a regression task carries float targets `[S, C]`.
Tasks of one mini-batch may differ in S and Q (any-shot).
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Episode:
    """A task. `info` says where it came from: index, group, classes, mislabelled or not."""

    support_x: Tensor
    support_y: Tensor
    query_x: Tensor
    query_y: Tensor
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in ("support", "query"):
            x, y = getattr(self, f"{part}_x"), getattr(self, f"{part}_y")
            if len(x) != len(y) or len(x) == 0:
                raise ValueError(
                    f"An episode's {part} set has {len(x)} inputs and {len(y)} targets; expected "
                    "the same number of both, at least one. Pass one target per input."
                )

    @property
    def ways(self) -> int:
        """Number of classes of a classification task."""
        if self.support_y.is_floating_point():
            raise ValueError(
                "This episode has float targets, so it is a regression task and has no ways; "
                "expected integer labels 0..ways-1. Use a regression loss (loss='mse') for it."
            )
        return int(self.support_y.max()) + 1

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> "Episode":
        """The same task on another device; `dtype` converts floating tensors only."""

        if dtype is None and self.support_x.device == torch.device(device):
            return self

        def move(tensor: Tensor) -> Tensor:
            return tensor.to(device, dtype if tensor.is_floating_point() else None)

        return Episode(
            move(self.support_x),
            move(self.support_y),
            move(self.query_x),
            move(self.query_y),
            self.info,
        )
