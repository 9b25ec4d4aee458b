"""Exploration's exact solution against SLSQP on the same problem: python benchmarks/weighters.py.

Both are called in turn on the same losses; printed are medians, and their ratio (at least 10).
"""

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from towpath.weighters import Dirichlet

Array = npt.NDArray[np.float64]
CONCENTRATION, ROUNDS = 1.2, 101


def slsqp(losses: Array) -> Array:
    """The paper's way: SLSQP with gradients and default accuracy, so that it is not held back."""
    M, a = len(losses), CONCENTRATION - 1.0
    found: Array = minimize(  # type: ignore[call-overload]  # scipy-stubs accept no lambda here
        lambda u: -u @ losses - a * np.log(u).sum(),
        np.full(M, 1.0 / M),
        jac=lambda u: -losses - a / u,
        method="SLSQP",
        bounds=[(1e-9, 1.0)] * M,
        constraints={"type": "eq", "fun": lambda u: u.sum() - 1.0, "jac": np.ones_like},
    ).x
    return found


def seconds(solve: Callable[[Array], Array], losses: Array) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    solve(losses)
    return time.perf_counter() - began


def main() -> None:
    """Print a line for each number of tasks."""
    generator = np.random.default_rng(0)
    exact = Dirichlet(CONCENTRATION).maximise
    print(f"{'tasks':>6} {'exact':>10} {'SLSQP':>10} {'ratio':>7}")
    for M in (5, 10, 20):
        times = np.array(
            [
                (seconds(exact, losses), seconds(slsqp, losses))
                for losses in generator.gamma(2.0, 1.0, (ROUNDS, M))
            ]
        )
        ours, theirs = np.median(times, axis=0)
        ratio = np.median(times[:, 1] / times[:, 0])
        print(f"{M:>6} {1e6 * ours:>7.0f} us {1e6 * theirs:>7.0f} us {ratio:>6.1f}x")


if __name__ == "__main__":
    main()
