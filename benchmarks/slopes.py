"""Whole-plan time against P, T and M, one at a time: log-log slopes, and the sweep's share."""

import importlib
import math
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch

import towpath as tp
from benchmarks.measure import Stopwatch, prepare_process, write
from benchmarks.windows import scene

ROUNDS = 7
# the package's name `ilqr` is the function
solver = importlib.import_module("towpath.control.ilqr")


def timed(plan: Callable[[], tp.Plan]) -> tuple[float, float]:
    """CPU seconds of a plan, and of its models, sweeps and condensed problems."""
    inside = 0.0
    direction = solver._direction

    def watched(*args: Any) -> Any:
        nonlocal inside
        began = time.process_time()
        found = direction(*args)
        inside += time.process_time() - began
        return found

    with mock.patch.object(solver, "_direction", watched), Stopwatch() as watch:
        plan()
    return watch.seconds, inside


def slope(sizes: list[int], seconds: list[float]) -> float:
    """Least squares in log-log."""
    x, y = [math.log(s) for s in sizes], [math.log(s) for s in seconds]
    return statistics.linear_regression(x, y).slope


def against(name: str, sizes: list[int], make: Callable[[int], Callable[[], tp.Plan]]) -> None:
    """Time the sizes in turns and print the slope."""
    plans = {size: make(size) for size in sizes}
    times: dict[int, list[tuple[float, float]]] = {size: [] for size in sizes}
    for size in sizes:
        plans[size]()
    for _ in range(ROUNDS):
        for size in sizes:
            times[size].append(timed(plans[size]))
    middle = [statistics.median(t for t, _ in times[size]) for size in sizes]
    share = [statistics.median(s / t for t, s in times[size]) for size in sizes]
    found = slope(sizes, middle)
    print(f"\n== whole plan against {name}: log-log slope {found:.2f} (target <= 1.1)")
    for size, seconds, part in zip(sizes, middle, share, strict=True):
        print(f"  {name} = {size:>9,}: {seconds / middle[0]:8.2f} x the first, sweep {part:.0%}")
    write(f"slope-{name}", {"sizes": sizes, "seconds": middle, "sweep": share, "slope": found})


def linear_plan(P: int, T: int = 5, M: int = 5) -> Callable[[], tp.Plan]:
    """Tasks that cost little beside the sweep: an embedding with P parameters, two layers."""
    width = P // 128
    generator = torch.Generator().manual_seed(0)

    def fn(params: dict[str, torch.Tensor], task: Any) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = task
        return torch.tanh(x @ params["first"]) @ params["second"], y

    params = {
        "first": 0.1 * torch.randn(64, width, generator=generator),
        "second": torch.randn(width, 64, generator=generator) / width**0.5,
    }
    window = [
        [
            (
                torch.randn(16, 64, generator=generator),
                torch.randint(64, (16,), generator=generator),
            )
            for _ in range(M)
        ]
        for _ in range(T)
    ]
    objective = tp.Objective.from_function(fn)  # type: ignore[arg-type]
    optimizer = tp.Adam(lr=1e-4).init(params)
    tow = tp.TOW(max_trials=1)
    return lambda: tow.plan(objective, params, optimizer, window)


def real_plan(T: int, M: int) -> Callable[[], tp.Plan]:
    """A window of real tasks, 5 query images a class."""
    here = scene("protonet", horizon=T, tasks=M, query=5, lr=1e-4)
    tow = tp.TOW(max_trials=1)
    return lambda: tow.plan(here.objective, here.params, here.optimizer, here.window)


def main() -> None:
    """Three slopes."""
    prepare_process()
    against("P", [50_048, 200_064, 1_000_064, 5_000_064], linear_plan)
    against("T", [3, 5, 10, 20], lambda T: real_plan(T, 5))
    against("M", [4, 8, 16, 32], lambda M: real_plan(3, M))


if __name__ == "__main__":
    main()
