"""A small convex quadratic programme over weights, by an active-set method in float64.

    minimise 1/2 d'H d + g'd   over w = base + d   subject to w >= 0
    and, on the simplex, the sum of each block of M weights equal to 1

Primal active set: every iterate is feasible, weights at the bound are exactly zero. With H positive
definite the method ends at the only minimum, unless it runs out of iterations: the weights are
feasible and better than the base then, but not the best.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
REFINEMENTS = 3
LIMIT, LIMIT_A_WEIGHT = 50, 20
"""the iteration limit: a constant, and a number for each weight"""


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights `[n]`, and whether they are the minimum or only the last iterate before the limit."""

    w: Array
    finished: bool


@dataclass(frozen=True, eq=False)
class Programme:
    """`1/2 d'H d + g'd` in the deviations d of T mini-batches of M weights from feasible ones."""

    H: Array
    """`[T M, T M]`, positive definite"""
    g: Array
    """`[T M]`, gradient at the base"""
    base: Array
    """`[T, M]`, feasible up to rounding"""
    held: Mask | None = None
    """`[T, M]`, marks weights of tasks without any effect; never all of a mini-batch"""


def solve(
    H: Array, g: Array, base: Array, block: int | None = None, held: Mask | None = None
) -> Solution:
    """Return the weights w `[n]` that minimise the programme.

    Args:
        H: `[n, n]`, positive definite.
        g: `[n]`, gradient at `base`.
        base: `[n]`, a feasible point.
        block: number of weights that sum to 1 together; None for `w >= 0` only.
        held: `[n]`, weights that are fixed at 0; at least one of each block must be free.
    """
    w = base.copy()
    fixed = np.zeros(len(w), dtype=bool) if held is None else held
    active = (w <= 0.0) | fixed
    w[active] = 0.0
    scale = float(np.abs(g).max(initial=0.0)) + float(np.abs(np.diag(H)).max())
    tolerance = 1e-13 * scale
    best, released, full_steps = np.inf, 0, 0
    settled = np.zeros_like(active)  # released in vain: only rounding would move them
    finished = False
    for _ in range(LIMIT + LIMIT_A_WEIGHT * len(w)):
        residual = g + H @ (w - base)
        free = ~active
        step = np.zeros_like(w)
        step[free], multipliers = _equality_step(H, residual, free, block)
        # how far a full step changes the gradient: the test is in the units of g. A weak prior
        # (H ill-conditioned) may never pass it; full steps on one face are as near as can be.
        change = float(np.abs(H @ step).max(initial=0.0))
        if change <= tolerance or full_steps == REFINEMENTS:
            value = float((g + residual) @ (w - base))  # twice the objective
            if value < best:
                best, settled[:] = value, False
            else:
                settled[released] = True
            slack = np.where(active & ~settled & ~fixed, residual - multipliers, 0.0)
            released = int(np.argmin(slack))
            if float(slack[released]) >= -max(tolerance, change):
                finished = True
                break
            active[released], full_steps = False, 0
            continue
        falling = free & (step < 0)
        ratios = np.full_like(w, np.inf)
        ratios[falling] = -w[falling] / step[falling]
        blocking = int(np.argmin(ratios))
        length = min(1.0, float(ratios[blocking]))
        w = w + length * step
        full_steps += 1
        if length < 1.0:
            active[blocking], full_steps = True, 0
        w[active] = 0.0
        w = np.maximum(w, 0.0)
    if block is not None:  # with an ill-conditioned H the steps' sums are 0 to 1e-11 only
        rows = w.reshape(-1, block)
        w = (rows / rows.sum(1, keepdims=True)).reshape(-1)
    return Solution(w, finished)


def _equality_step(H: Array, residual: Array, free: Mask, block: int | None) -> tuple[Array, Array]:
    """Return the Newton step of the free weights, and each weight's multiplier of the sums."""
    from scipy.linalg import cho_factor, cho_solve  # here: it would slow `import towpath`

    if not free.any():
        return np.zeros(0), np.zeros_like(residual)
    factor = cho_factor(H[np.ix_(free, free)], lower=True)
    newton = -cho_solve(factor, residual[free])
    if block is None:
        return newton, np.zeros_like(residual)
    blocks = np.arange(len(residual)) // block
    E = (blocks[free][None, :] == np.arange(blocks[-1] + 1)[:, None]).astype(np.float64)
    X = cho_solve(factor, E.T)
    nu = np.linalg.solve(E @ X, -(E @ newton))
    return newton + X @ nu, nu[blocks]


def project_simplex(rows: Array, held: Mask | None = None) -> Array:
    """Project each row onto the probability simplex; `held` weights are fixed at 0."""
    if held is not None:
        # far enough below the others for the projection to set them to 0
        low = rows.min(axis=1, keepdims=True) - 2.0
        rows = np.where(held, low - np.ptp(rows, axis=1, keepdims=True), rows)
    rows = rows - rows.max(axis=1, keepdims=True)  # or huge rows would round the 1 away
    ordered = -np.sort(-rows, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1.0
    counts = np.arange(1, rows.shape[1] + 1)
    size = (ordered - excess / counts > 0).sum(axis=1)
    shift = excess[np.arange(len(rows)), size - 1] / size
    projected: Array = np.maximum(rows - shift[:, None], 0.0)
    return projected
