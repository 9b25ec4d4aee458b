"""One task of few-shot learning: a support set to adapt on, a query set to be evaluated on.

Shapes: `support_x [S, ...]`, `support_y [S]`, `query_x [Q, ...]`, `query_y [Q]`. Labels of a
classification task are integers 0..ways-1; a regression task carries float targets `[S, C]`.
Tasks of one mini-batch may differ in S and Q (any-shot).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Info = dict[str, Any]
"""what is known of a task, by name: values that JSON can hold, as records keep them"""
Indices = npt.NDArray[np.int64]
ROUNDING = 1e-9
"""subtracted before rounding up: a third of 15 images is 5, whatever floating point makes of it"""


@dataclass(frozen=True, eq=False)
class Episode:
    """One task. `info` describes its origin: index, group, classes, whether it is mislabelled."""

    support_x: Tensor
    support_y: Tensor
    query_x: Tensor
    query_y: Tensor
    info: Info = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in ("support", "query"):
            x, y = getattr(self, f"{part}_x"), getattr(self, f"{part}_y")
            if x.ndim == 0 or y.ndim == 0:
                raise ValueError(
                    f"An episode's {part} set has inputs of shape {list(x.shape)} and targets of "
                    f"shape {list(y.shape)}; expected [N, ...] and [N]. Give a single sample a "
                    "dimension of its own: x[None], y[None]."
                )
            if len(x) != len(y) or len(x) == 0:
                raise ValueError(
                    f"An episode's {part} set has {len(x)} inputs and {len(y)} targets; expected "
                    "the same number of both, at least one. Pass one target per input."
                )

    @property
    def ways(self) -> int:
        """The number of classes of a classification task; a ValueError for a regression task."""
        if self.support_y.is_floating_point():
            raise ValueError(
                "This episode has float targets, so it is a regression task and has no ways; "
                "expected integer labels 0..ways-1. Use a regression loss (loss='mse') for it."
            )
        return int(self.support_y.max()) + 1

    def part(self, share: float) -> "Episode":
        """Return the same task with a share of its query set: the first images of each class.

        At least one query sample of each class is kept; of a regression task, at least one.
        """
        return parts([self], share)[0]

    def dealt(self, generator: torch.Generator) -> "Episode":
        """Return the same samples, dealt anew into a support and a query set of the same sizes.

        Each class keeps its number of support samples. The labels of a task that was mislabelled
        stay with their samples.

        Args:
            generator: draws the deal, on the CPU.
        """
        x = torch.cat([self.support_x, self.query_x])
        y = torch.cat([self.support_y, self.query_y])
        n = len(self.support_y)
        order = torch.randperm(len(y), generator=generator).to(y.device)
        if not y.is_floating_point():
            # the support set is the first of each class in this order, as many as before
            of_class = torch.nn.functional.one_hot(y[order], int(y.max()) + 1)
            wanted = torch.bincount(self.support_y, minlength=of_class.shape[1])
            rank = (of_class.cumsum(0) * of_class).sum(1)
            first = rank <= wanted[y[order]]
            order = torch.cat([order[first], order[~first]])
        a, b = order[:n], order[n:]
        return Episode(x[a], y[a], x[b], y[b], self.info)

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> "Episode":
        """Return the same task on another device; `dtype` converts floating-point tensors only."""
        if dtype is None and self.support_x.device == torch.device(device):
            return self

        def move(tensor: Tensor) -> Tensor:
            """Move a tensor; integer labels keep their type."""
            return tensor.to(device, dtype if tensor.is_floating_point() else None)

        return Episode(
            move(self.support_x),
            move(self.support_y),
            move(self.query_x),
            move(self.query_y),
            self.info,
        )


def parts(episodes: Sequence[Episode], share: float) -> list[Episode]:
    """Return `episode.part(share)` of each, with all labels read from their device at once.

    Args:
        episodes: any number of tasks, on one device.
        share: the share of the query sets, more than 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise ValueError(f"Found share={share}; expected a share of the query set, 0 to 1.")
    with_classes = [e.query_y for e in episodes if _has_classes(e)]
    labels: Iterator[Indices] = iter(())
    if with_classes:
        numbers = torch.cat(with_classes).cpu().numpy()
        labels = iter(np.split(numbers, np.cumsum([len(y) for y in with_classes])[:-1]))
    found = []
    for e in episodes:
        kept = np.arange(math.ceil(share * len(e.query_y) - ROUNDING))
        if _has_classes(e):
            kept = _first_of_each_class(next(labels), share)
        at = torch.from_numpy(kept).to(e.query_y.device)
        found.append(Episode(e.support_x, e.support_y, e.query_x[at], e.query_y[at], e.info))
    return found


def _has_classes(episode: Episode) -> bool:
    """Return whether each query sample has one label."""
    return episode.query_y.ndim == 1 and not episode.query_y.is_floating_point()


def _first_of_each_class(labels: Indices, share: float) -> Indices:
    """Return the places of the first samples of each class, that share of them, in order."""
    _, of, counts = np.unique(labels, return_inverse=True, return_counts=True)
    wanted = np.ceil(share * counts - ROUNDING)  # [ways]
    own = of[:, None] == np.arange(len(counts))  # [Q, ways]
    rank = (own.cumsum(0) * own).sum(1)  # 1 for the first of its class
    return np.flatnonzero(rank <= wanted[of])
