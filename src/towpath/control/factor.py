"""Cholesky factor of a matrix, regularised where necessary, and the largest eigenvalue of one.

No explicit inverse is formed.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

ATTEMPTS = 8
MANY = 200
"""the number of rows from which on one eigenvalue is found by products with a vector"""


@dataclass(frozen=True, eq=False)
class Factor:
    """`Q = S S'` with S lower triangular, float64; `rho` was added to the diagonal."""

    S: Tensor
    rho: float

    def solve(self, right: Tensor) -> Tensor:
        """Return `Q^-1 right` for a vector `right [M]`."""
        solution: Tensor = torch.cholesky_solve(right[:, None], self.S)[:, 0]
        return solution

    def half_solve(self, right: Tensor) -> Tensor:
        """Return `S^-1 right` for a matrix `right [M, n]`, in the dtype of `right`."""
        solution: Tensor = torch.linalg.solve_triangular(self.S.to(right.dtype), right, upper=False)
        return solution


def factorise(Q: Tensor) -> Factor | None:
    """Return the Cholesky factor of a symmetric matrix, regularised by `rho I` if necessary.

    rho grows tenfold from try to try. The result is None if the matrix stays indefinite or has an
    entry that is not finite.
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


def largest_eigenvalue(H: Tensor) -> float:
    """Return the largest eigenvalue of a symmetric matrix, to the precision of its dtype."""
    if len(H) <= MANY:
        return float(torch.linalg.eigvalsh(H)[-1])
    if not bool(H.any()):
        return 0.0
    from scipy.sparse.linalg import eigsh  # here: it would slow `import towpath`

    start = np.random.default_rng(0).standard_normal(len(H))
    found = eigsh(H.cpu().numpy(), k=1, which="LA", v0=start, return_eigenvectors=False)
    return float(found[0])
