"""Weights that make the inputs of the mini-batch resemble the targets', whatever the losses."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from towpath.control.quadratic import solve
from towpath.validation import at_least
from towpath.weighters.card import Card
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.selection import equal

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class AlphaMAML(MiniBatchWeighter):
    """alpha-MAML (Cai, Sheth, Mackey, Fusi 2020): match the targets' inputs in a kernel's mean.

    Reconstructed from the paper's abstract. `alpha = argmin over the simplex of alpha' K alpha -
    2 k' alpha + ridge |alpha|^2`, K the mean kernel between the query features of two tasks and k
    that between a task's and the targets': the maximum mean discrepancy of the weighted mini-batch
    to the targets. The kernel is `exp(-d^2 / (2 h^2))`, h^2 the median of the squared distances
    between all points. Features are the learner's embedding, or the flattened inputs where it has
    none. Labels are not used: those of an episode mean nothing in another one.

    Args:
        ridge: how much equal weights are preferred.
    """

    wants_targets = True
    target_evaluations: ClassVar[float] = 0.0
    looks_at_features: ClassVar[bool] = True
    card = Card(
        formula="`argmin over the simplex of alpha' K alpha - 2 k' alpha + 0.1 \\|alpha\\|^2`, "
        "kernels of query features (reconstructed)",
        assumes="what makes a task good is what its inputs look like",
        costs="a forward pass over tasks and targets, and all distances between query points",
        fails="where labels are wrong: it does not see them",
        reference="Cai, Sheth, Mackey, Fusi 2020",
    )

    ridge: float = 0.1

    def __post_init__(self) -> None:
        at_least("AlphaMAML", "ridge", self.ridge, 0.0)

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Minimise the discrepancy to the targets, a quadratic programme on the simplex."""
        M = len(batch)
        if len(batch.targets) == 0:
            return equal(batch), state
        points = [*batch.features(), *batch.targets.features()]
        together = torch.cat(points).detach().double().cpu().numpy()
        means = mean_kernels(np.split(together, np.cumsum([len(p) for p in points])[:-1]))
        K, k = means[:M, :M], means[:M, M:].mean(1)
        # a trace at least: without a ridge, equal tasks would leave the minimum undetermined
        H = 2 * (K + max(self.ridge, 1e-9) * np.eye(M))
        base = np.full(M, 1.0 / M)
        return torch.from_numpy(solve(H, H @ base - 2 * k, base, block=M).w), state


def mean_kernels(sets: list[Array]) -> Array:
    """Return `[n, n]`, the mean of the kernel over all pairs of points of two sets `[Q, D]`."""
    points = np.concatenate(sets)
    norms = (points**2).sum(1)
    squared = np.maximum(norms[:, None] + norms[None] - 2 * points @ points.T, 0.0)
    np.fill_diagonal(squared, 0.0)
    others = squared[~np.eye(len(points), dtype=bool)]
    scale = float(np.median(others)) if len(others) else 0.0
    kernel = np.exp(squared / (-2 * (scale if scale > 0 else 1.0)))
    starts = np.cumsum([0, *(len(s) for s in sets)])[:-1]
    counts = np.array([len(s) for s in sets])
    totals = np.add.reduceat(np.add.reduceat(kernel, starts, axis=0), starts, axis=1)
    found: Array = totals / (counts[:, None] * counts[None])
    return found
