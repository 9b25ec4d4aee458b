"""Weights that are at least 0 and sum to 1 in each mini-batch."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from towpath.control.bounds.bounds import Convex
from towpath.control.deviations import centred
from towpath.control.quadratic import Programme, Solution, project_simplex, solve


@dataclass(frozen=True)
class Simplex(Convex):
    """`w >= 0` and `sum(w) = 1`: only the mix of tasks changes, and held tasks weigh 0."""

    def project(self, weights: Tensor, held: Tensor | None = None) -> Tensor:
        """Euclidean projection of each row onto the probability simplex."""
        M = weights.shape[-1]
        still = None if held is None else held.cpu().numpy().reshape(-1, M)
        rows = project_simplex(weights.cpu().numpy().reshape(-1, M), still)
        return torch.from_numpy(rows).reshape(weights.shape).to(weights.device)

    def minimise(self, programme: Programme) -> Solution:
        """By an active-set method that keeps the sums of the mini-batches."""
        base, held = programme.base, programme.held
        # float32 weights sum to 1 up to rounding only; float64 ones are left as they are
        sums = base.sum(1, keepdims=True)
        sums[np.abs(sums - 1.0) < 1e-12] = 1.0
        start = (base / sums).reshape(-1)
        still = None if held is None else held.reshape(-1)
        return solve(programme.H, programme.g, start, base.shape[1], still)

    def feasible_start(self, actions: Tensor, held: Tensor | None = None) -> Tensor:
        """The same weights without those of held tasks, which the others share."""
        if held is None:
            return actions
        actions = actions.masked_fill(held, 0.0)
        return actions / actions.sum(1, keepdim=True)

    def followed(self, gradient: Tensor, held: Tensor | None = None) -> Tensor:
        """Each mini-batch's gradient less its mean, which the sum of the weights forbids."""
        return centred(gradient, held)
