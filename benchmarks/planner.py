"""What parts of a plan cost: iterations, the exact value function, the sweep against P, memory.

Whole plans over uniform training are in `every_window`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import torch

import towpath as tp
from benchmarks.measure import prepare_process, race, report
from benchmarks.memory import forget_peak, peak
from benchmarks.windows import Scene, scene
from towpath.control import (
    Allows,
    Model,
    Problem,
    StageModel,
    backward_sweep,
    condense,
    condensed_sweep,
)
from towpath.control.descent import Direction
from towpath.control.search import Search, Step
from towpath.weighters import Weighter


def plan_with(here: Scene, weighter: Weighter) -> tp.Plan:
    """One plan of the scene's window."""
    return weighter.plan(here.objective, here.params, here.optimizer, here.window)


def exact_over_diagonal() -> None:
    """The exact over the diagonal value function, for whole plans of the paper's algorithm."""
    here = scene("protonet", lr=1e-4)
    plans = {
        "diagonal value": tp.TOW.faithful(),
        "exact value": tp.TOW.faithful(value="exact"),
    }
    runs = {name: partial(plan_with, here, weighter) for name, weighter in plans.items()}
    report("value", race(runs, base="diagonal value"))
    print("  (target: at most 1.1)")


@contextmanager
def every_first_trial_taken() -> Iterator[None]:
    """Early stopping disabled: an iteration evaluates one trial and goes on from it."""

    def take_first(
        search: Search,
        direction: Direction,
        problem: Problem[Any],
        *rest: object,
        allows: Allows,
        derivatives: bool,
        slack: float,
    ) -> Step[Any]:
        del search, rest, slack  # what an acceptance test would look at
        trial = problem.rollout(direction.policy(1.0), derivatives=derivatives, allows=allows)
        return Step(trial, eps=1.0, trials=1, work=trial.work, modelled=derivatives)

    with mock.patch.object(Search, "along", take_first):
        yield


def ten_over_two() -> None:
    """Ten iterations over two. Real windows converge before the tenth (float64, tolerance 0: the
    fifth finds no better step), so every iteration takes its first trial, whatever it costs."""
    here = scene("protonet", lr=1e-4)
    plans: dict[str, tp.Plan] = {}

    def run(iterations: int) -> None:
        with every_first_trial_taken():
            plans[str(iterations)] = plan_with(
                here, tp.TOW(iterations=iterations, tolerance=0.0, acceptance="strict")
            )

    ratios = race({"2": lambda: run(2), "10": lambda: run(10)}, base="2")
    report("iterations", ratios)
    for name, plan in plans.items():
        print(
            f"    {name} iterations: {len(plan.history)} done, {plan.evaluations:g} evaluations, "
            f"{plan.sketches:g} sketches"
        )


def random_model(P: int, T: int = 5, M: int = 10, k: int = 3) -> Model:
    """A model of the size of a real one."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    stages = []
    for _ in range(T):
        A = 0.01 * draw(k, k, P) + torch.eye(k)[:, :, None]
        stages.append(StageModel(A, 1e-3 * draw(k, P), draw(M, P), draw(P), draw(P).abs()))
    return Model(stages)


def sweep_alone() -> None:
    """Exact over diagonal sweep, and the condensed problem, against P."""
    rows = []
    for P in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        model = random_model(P)
        T, M, _, _ = model.shape
        prior = torch.zeros(T, M, dtype=torch.float64)
        rounds = 7 if P <= 100_000 else 3
        ratios = race(
            {
                "diagonal sweep": partial(backward_sweep, model, prior, 10.0),
                "exact sweep": partial(condensed_sweep, model, prior, 10.0),
                "condensed problem": partial(condense, model),
            },
            base="diagonal sweep",
            rounds=rounds,
        )
        print(f"\n  P = {P:,}")
        for ratio in ratios:
            print(f"    {ratio}   {1e9 * ratio.seconds / P:.0f} ns a parameter")
        rows += ratios
    report("sweep", rows[:3], {"all": [r.__dict__ for r in rows]})


def peak_memory(what: str, P: int) -> float:
    """Numbers (float32) above the model itself, in units of T M P, in a process of its own."""
    code = f"import benchmarks.planner as b; b.measure_memory({what!r}, {P})"
    # every large block mapped by itself, so that freed memory counts as freed
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return float(done.stdout.strip().splitlines()[-1])


def measure_memory(what: str, P: int) -> None:
    """Print the growth of the peak while one thing runs (called in a fresh process)."""
    torch.set_num_threads(1)
    small = random_model(1000)
    zero = torch.zeros(5, 10, dtype=torch.float64)

    def run(model: Model) -> None:
        if what == "condensed":
            condense(model)
        elif what == "exact":
            condensed_sweep(model, zero, 10.0)
        else:
            backward_sweep(model, zero, 10.0)

    run(small)
    model = random_model(P)
    forget_peak()  # building the model took more than it keeps
    before = peak()
    run(model)
    print((peak() - before) / 4 / (5 * 10 * P))


def memory() -> None:
    """Peak memory of sweep and condensed problem beyond the model."""
    print("\n== memory beyond the model (J, A, b), in units of T M P numbers, T = 5, M = 10")
    for P in (100_000, 1_000_000):
        row = {what: peak_memory(what, P) for what in ("diagonal", "exact", "condensed")}
        figures = ", ".join(f"{name} {value:.2f}" for name, value in row.items())
        print(f"  P = {P:,}: {figures}")


def main() -> None:
    """Everything about the planner's price."""
    prepare_process()
    began = time.perf_counter()
    exact_over_diagonal()
    ten_over_two()
    sweep_alone()
    memory()
    print(f"\nplanner benchmarks took {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
