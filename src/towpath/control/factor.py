"""Cholesky factor of a small matrix, regularised if it must be: never an explicit inverse."""

from dataclasses import dataclass

import torch
from torch import Tensor

ATTEMPTS = 8


@dataclass(frozen=True, eq=False)
class Factor:
    """`Q = S S'` with S lower triangular, float64; `rho` was added to the diagonal."""

    S: Tensor
    rho: float

    def solve(self, right: Tensor) -> Tensor:
        """`Q^-1 right` for a vector."""
        solution: Tensor = torch.cholesky_solve(right[:, None], self.S)[:, 0]
        return solution

    def half_solve(self, right: Tensor) -> Tensor:
        """`S^-1 right [M, n]` in the dtype of `right`."""
        solution: Tensor = torch.linalg.solve_triangular(self.S.to(right.dtype), right, upper=False)
        return solution


def factorise(Q: Tensor) -> Factor | None:
    """Factor of a symmetric matrix; rho I is added, times ten each try, before giving up.

    None for a matrix that stays indefinite or is not finite.
    """
    rho = 0.0
    eye = torch.eye(len(Q), dtype=Q.dtype, device=Q.device)
    start = 1e-6 * max(float(Q.diagonal().abs().max()), 1e-30)
    for attempt in range(ATTEMPTS):
        S, info = torch.linalg.cholesky_ex(Q + rho * eye)
        if int(info) == 0 and bool(torch.isfinite(S).all()):
            return Factor(S, rho)
        rho = start * 10.0**attempt
    return None
