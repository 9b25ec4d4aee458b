"""What weighters cost: python -m benchmarks weighters.

Every registered weighter plans the same window in turns with uniform weights, after a warm-up of
each: the ratios of their CPU times. Bounds: rules without targets at most 1.05 of uniform, with two
targets a mini-batch at most 1.6, look-ahead rules at most 2.0; those that plan or train a network
are stated only.

Exploration's exact solution against SLSQP, in turns on the same losses: medians, and their ratio
(at least 10).
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from benchmarks.measure import Ratio, prepare_process, race, report
from benchmarks.windows import Scene, scene
from towpath.recipes.component import Component
from towpath.recipes.components import make_weighter
from towpath.weighters import WEIGHTERS, Dirichlet, MiniBatchWeighter, Weighter, wants_targets

Array = npt.NDArray[np.float64]
CONCENTRATION, ROUNDS = 1.2, 101
READY: dict[str, dict[str, Any]] = {
    # past their beginning, where they only weigh equally
    "trim": {"warmup": 0},
    "mixture": {"warmup": 0},
    "fine-tune": {"after": 0},
    "nested": {"clusters": 20, "first": 50},
}
FREE, WITH_TARGETS, AHEAD = 1.05, 1.6, 2.0
STATED = ("ats",)
"""rules without a bound"""


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


def bound_of(name: str, weighter: Weighter) -> float | None:
    """The largest ratio to uniform that a weighter may have, if any."""
    if not isinstance(weighter, MiniBatchWeighter) or name in STATED:
        return None
    if not weighter.wants_targets:
        return FREE
    return AHEAD if weighter.target_evaluations > 1 else WITH_TARGETS


def over_uniform(here: Scene, rounds: int) -> list[Ratio]:
    """The CPU times of whole plans over those of uniform weights, each warmed up by a window.

    Every weighter takes turns with uniform alone. In one round of all of them the base is measured
    too long before most contenders: on a loaded machine l2rw came out at 0.76 of uniform that way.
    """
    made = {n: make_weighter(Component(n, READY.get(n, {}))) for n in WEIGHTERS}

    def plan(weighter: Weighter, state: Any) -> Any:
        targets = here.targets if wants_targets(weighter) else None
        return weighter.plan(
            here.objective, here.params, here.optimizer, here.window, targets=targets, state=state
        )

    held = {name: plan(weighter, None).weighter_state for name, weighter in made.items()}
    ratios = []
    for name, weighter in made.items():
        pair = {
            "uniform": partial(plan, made["uniform"], held["uniform"]),
            # uniform against itself shows how far a ratio can be trusted
            "uniform again" if name == "uniform" else name: partial(plan, weighter, held[name]),
        }
        ratios.append(race(pair, "uniform", rounds, time.process_time)[1])
    bounds = {name: bound_of(name, weighter) for name, weighter in made.items()}
    report("weighters", ratios, {"scene": here.name, "bounds": bounds})
    for ratio in ratios:
        bound = bounds.get(ratio.name)
        if bound is not None and ratio.ratio > bound:
            print(f"  {ratio.name}: {ratio.ratio:.2f}, above its bound of {bound}")
    return ratios


def main() -> None:
    """Both parts."""
    prepare_process()
    over_uniform(scene("protonet", step=5, horizon=3, tasks=6), rounds=3)
    against_slsqp()


def against_slsqp() -> None:
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
