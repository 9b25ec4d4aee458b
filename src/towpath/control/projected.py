"""The quadratic programme of `towpath.control.quadratic` over any convex set, in float64.

    minimise 1/2 d'H d + g'd   over w = base + d   in a set that is known by its projection only

Projected gradient steps of length 1/L, L the largest eigenvalue of H, with Nesterov's acceleration;
the acceleration restarts wherever it led uphill. As H is positive definite, they converge to the
only minimum; sets with structure (weights of at least 0, the simplex) have faster methods.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from towpath.control.factor import largest_eigenvalue
from towpath.control.quadratic import Programme, Solution

Project = Callable[[Tensor, Tensor | None], Tensor]
"""(weights [T, M], held [T, M] or None) -> the nearest weights of the set."""
LIMIT = 20_000
PRECISION = 1e-13
"""steps shorter than this, relative to the weights, change nothing any more"""


def solve_projected(programme: Programme, project: Project) -> Solution:
    """Minimise a quadratic programme over a convex set that is given by its projection.

    The iterations start at the base and return the last weights if they reach their limit, so the
    result is never worse than the base.
    """
    H, g = torch.from_numpy(programme.H), torch.from_numpy(programme.g)
    base = torch.from_numpy(programme.base)
    held = None if programme.held is None else torch.from_numpy(programme.held)
    length = 1.0 / largest_eigenvalue(H)

    def slope(w: Tensor) -> Tensor:
        """Return the gradient of the programme at the weights w."""
        return (g + H @ (w - base).reshape(-1)).reshape(base.shape)

    w = ahead = project(base, held)
    pace = 1.0
    for _ in range(LIMIT):
        stepped = project(ahead - length * slope(ahead), held)
        moved = stepped - w
        if float((stepped - ahead).abs().max()) <= PRECISION * (1.0 + float(w.abs().max())):
            return Solution(np.ascontiguousarray(stepped.reshape(-1).numpy()), finished=True)
        if float(((ahead - stepped) * moved).sum()) > 0.0:  # uphill: restart the acceleration
            pace = 1.0
        faster = 0.5 * (1.0 + (1.0 + 4.0 * pace * pace) ** 0.5)
        ahead = stepped + (pace - 1.0) / faster * moved
        w, pace = stepped, faster
    return Solution(np.ascontiguousarray(w.reshape(-1).numpy()), finished=False)
