"""Bounds that keep the weights of each mini-batch on the probability simplex."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from towpath.control.bounds.bounds import Convex
from towpath.control.deviations import centred
from towpath.control.quadratic import Programme, Solution, project_simplex, solve

SUMS_TO_ONE = 1e-12
"""by how much a sum of float64 weights may differ from 1 through rounding"""


@dataclass(frozen=True)
class Simplex(Convex):
    """`w >= 0` and `sum(w) = 1`: only the mix of tasks changes; tasks without effect weigh 0."""

    def project(self, weights: Tensor, held: Tensor | None = None) -> Tensor:
        """Project each row of weights onto the probability simplex, in the Euclidean norm."""
        M = weights.shape[-1]
        still = None if held is None else held.cpu().numpy().reshape(-1, M)
        rows = project_simplex(weights.cpu().numpy().reshape(-1, M), still)
        return torch.from_numpy(rows).reshape(weights.shape).to(weights.device)

    def minimise(self, programme: Programme) -> Solution:
        """Solve the programme by an active-set method that keeps each mini-batch's sum."""
        base, held = programme.base, programme.held
        # float32 weights sum to 1 up to rounding only; float64 ones are left as they are
        sums = base.sum(1, keepdims=True)
        sums[np.abs(sums - 1.0) < SUMS_TO_ONE] = 1.0
        start = (base / sums).reshape(-1)
        still = None if held is None else held.reshape(-1)
        return solve(programme.H, programme.g, start, base.shape[1], still)

    def feasible_start(self, actions: Tensor, held: Tensor | None = None) -> Tensor:
        """Set the weights of tasks without effect to 0 and rescale the others to sum to 1."""
        if held is not None:
            actions = actions.masked_fill(held, 0.0)
            return actions / actions.sum(1, keepdim=True)
        sums = actions.sum(1, keepdim=True)
        # weights that sum to 1 up to rounding are left as they are, to the bit
        return actions / torch.where((sums - 1.0).abs() < SUMS_TO_ONE, torch.ones_like(sums), sums)

    def followed(self, gradient: Tensor, held: Tensor | None = None) -> Tensor:
        """Subtract its mean from each mini-batch's gradient, as the sum of weights is fixed."""
        return centred(gradient, held)
