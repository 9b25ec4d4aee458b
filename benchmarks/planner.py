"""What a plan costs: over uniform training, exact over diagonal value, the sweep against P."""

import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import torch

import towpath as tp
from benchmarks.measure import prepare_process, race, report, write
from benchmarks.memory import forget_peak, peak
from benchmarks.windows import Scene, not_before, scene, scenes
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


def plan_with(here: Scene, weighter: Weighter, *, targets: bool = False) -> tp.Plan:
    """One plan of the scene's window."""
    goals = here.targets if targets else None
    return weighter.plan(here.objective, here.params, here.optimizer, here.window, targets=goals)


CONTENDERS: dict[str, tp.TOW | tp.Uniform] = {
    "uniform": tp.Uniform(),
    "TOW()": tp.TOW(),
    "TOW.faithful()": tp.TOW.faithful(),
    "TOW.faithful(value='exact')": tp.TOW.faithful(value="exact"),
    "TOW.fast()": tp.TOW.fast(),
    "TOW.towards_targets()": tp.TOW.towards_targets(),
    "TOW.towards_targets(query_share='auto')": tp.TOW.towards_targets(query_share="auto"),
}
"""with targets: two a mini-batch"""


def over_uniform(here: Scene, rate: float, names: Sequence[str] = tuple(CONTENDERS)) -> None:
    """Whole plans over T uniform steps, with the counters."""
    last: dict[str, tp.Plan] = {}

    def run(name: str) -> None:
        last[name] = plan_with(here, CONTENDERS[name], targets="targets" in name)

    ratios = race({name: partial(run, name) for name in names}, base="uniform")
    counters = {}
    for name in names:
        plan = last[name]
        counters[name] = {
            "evaluations": plan.evaluations,
            "part evaluations": plan.part_evaluations,
            "sketches": plan.sketches,
            "trials": [line.trials for line in plan.history],
            "status": plan.status.value,
        }
    report(f"plan-{here.name}-rate-{rate:g}".replace(" ", "-"), ratios, {"counters": counters})
    for name, count in counters.items():
        print(f"    {name}: {count}")
    by_name = {r.name: r.seconds for r in ratios}
    if "TOW.faithful()" in by_name:
        exact = by_name["TOW.faithful(value='exact')"] / by_name["TOW.faithful()"]
        print(f"  exact over diagonal value, whole plan: {exact:.3f} (target <= 1.1)")


def fast_over_uniform(learner: str, windows: int = 4) -> None:
    """`TOW.fast()` over uniform steps, on the clock, several windows from steps 0 and 300 on."""
    rows: dict[str, list[float]] = {"accepted": [], "decided by uniform training": []}
    ahead = scenes(learner, lr=1e-4)
    for step in (0, 300):
        here = not_before(step, ahead)
        for window in itertools.islice(here, windows):
            last: list[tp.Plan] = []

            def plan(window: Scene = window, last: list[tp.Plan] = last) -> None:
                last[:] = [plan_with(window, tp.TOW.fast())]

            contenders: dict[str, Callable[[], object]] = {
                "uniform": partial(plan_with, window, tp.Uniform()),
                "TOW.fast()": plan,
            }
            ratio = race(contenders, base="uniform")[1]
            trained_once = last[0].evaluations <= len(window.window)
            rows["accepted" if trained_once else "decided by uniform training"].append(ratio.ratio)
            print(f"  {window.name}: {ratio}", flush=True)
    every = [value for values in rows.values() for value in values]
    print(f"\n== TOW.fast() over uniform, {learner}: median {statistics.median(every):.2f}")
    for name, values in rows.items():
        if values:
            print(f"    {name}, {len(values)} windows: median {statistics.median(values):.2f}")
    write(f"fast-{learner}", {"rows": rows})


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
        return Step(trial, eps=1.0, trials=1, work=trial.work)

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
    for learner in ("protonet", "maml"):
        ahead = scenes(learner, lr=1e-4)
        over_uniform(next(ahead), 1e-4)
        later = next(s for s in ahead if s.step >= 300)
        over_uniform(later, 1e-4)
        # ten times the paper's rate: first trials are rejected
        over_uniform(next(scenes(learner, lr=1e-3)), 1e-3, ("uniform", "TOW()", "TOW.fast()"))
        fast_over_uniform(learner)
    ten_over_two()
    sweep_alone()
    memory()
    print(f"\nplanner benchmarks took {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
