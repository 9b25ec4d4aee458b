"""A small convex quadratic programme over weights, by an active-set method in float64.

    minimise 1/2 d'H d + g'd   over w = base + d   subject to w >= 0
    and, on the simplex, the sum of each block of M weights equal to 1

Primal active set: every iterate is feasible, weights at the bound are exactly zero. With H positive
definite the method ends at the only minimum, unless it runs out of iterations: the weights are
feasible and better than the base then, but not the best.

Each iteration factorises H, and about as many are needed as weights reach the bound. Where there
are many weights the bounds are therefore guessed first, many at a time (block principal pivoting);
the active-set method then starts from the guess and has little left to do.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
REFINEMENTS = 3
LIMIT, LIMIT_A_WEIGHT = 50, 20
"""the iteration limit: a constant, and a number for each weight"""
MANY = 100
"""the number of weights from which on the bounds are guessed first"""
PIVOTS, PATIENCE = 60, 3
"""how often a guess is changed at most, and how often in a row without having got better"""


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
    fixed = np.zeros(len(base), dtype=bool) if held is None else held
    guess = _guess(H, g, base, block, fixed) if len(base) > MANY else None
    w = base.copy() if guess is None else guess
    active = (w <= 0.0) | fixed
    w[active] = 0.0
    tolerance = _tolerance(H, g)
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


def _guess(H: Array, g: Array, base: Array, block: int | None, fixed: Mask) -> Array | None:
    """Return feasible weights that are the minimum or close to it; None if they were not found.

    Weights at the bound and free weights change sides wherever their sign is wrong: all at once
    while that helps, and one at a time where it does not.
    """
    active, tolerance = fixed.copy(), _tolerance(H, g)
    fewest, patience = len(base) + 1, PATIENCE
    for _ in range(PIVOTS):
        w = _with_sums(np.where(active, 0.0, base), ~active, block)
        residual, step = g + H @ (w - base), np.zeros_like(w)
        step[~active], multipliers = _equality_step(H, residual, ~active, block)
        w, slack = w + step, residual + H @ step - multipliers
        below = ~active & (w < -1e-13 * float(np.abs(w).max()))
        wrong = below | (active & ~fixed & (slack < -tolerance))
        count = int(wrong.sum())
        if count == 0:
            return _with_sums(np.maximum(w, 0.0), ~active, block)
        patience = PATIENCE if count < fewest else patience - 1
        fewest = min(fewest, count)
        if patience < 0:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        active ^= wrong
        if block is not None:  # each sum needs a free weight
            rows, largest = active.reshape(-1, block), np.where(fixed, -np.inf, w)
            emptied = np.flatnonzero(rows.all(1))
            rows[emptied, largest.reshape(-1, block)[emptied].argmax(1)] = False
    return None


def _with_sums(w: Array, free: Mask, block: int | None) -> Array:
    """Return weights whose free ones make up for what is missing in the sum of their block."""
    if block is None:
        return w
    rows, free_rows = w.reshape(-1, block), free.reshape(-1, block)
    missing = (1.0 - rows.sum(1)) / free_rows.sum(1)
    return (rows + np.where(free_rows, missing[:, None], 0.0)).reshape(-1)


def _tolerance(H: Array, g: Array) -> float:
    """Return the size of a residual that is rounding."""
    return 1e-13 * (float(np.abs(g).max(initial=0.0)) + float(np.abs(np.diag(H)).max()))


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
