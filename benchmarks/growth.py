"""What grows: whole plans with P, T and M, the quadratic programme, groups, rows of a table.

Plans have log-log slopes and the share of the sweep; the programme is compared with one Cholesky
factorisation of its Hessian, a rule with a memory of groups with uniform weights, and the reading
of a table with its own smallest size. One thread, processor time.
"""

import importlib
import math
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from scipy.linalg import cho_factor

import towpath as tp
from benchmarks.measure import Stopwatch, prepare_process, write
from benchmarks.windows import scene
from towpath.control.quadratic import solve
from towpath.data.tables import load_table

ROUNDS = 3
PROGRAMMES = ((5, 20), (10, 40), (20, 80), (50, 128))
"""sizes T and M of quadratic programmes"""
GROUPS = (10, 100, 1_000, 10_000)
ROWS = (10_000, 100_000, 1_000_000)
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


def programmes() -> None:
    """The weights of w >= 0 and of the simplex, over one factorisation of the same Hessian."""
    print("\n== quadratic programme over one Cholesky factorisation, about 40 per cent of w at 0")
    rows = []
    for T, M in PROGRAMMES:
        n, draw = T * M, np.random.default_rng(0)
        F = draw.standard_normal((n, n // 4)) / (n // 4) ** 0.5
        H = F @ F.T + 0.1 * np.eye(n)
        g, base = 0.3 / M * draw.standard_normal(n), np.full(n, 1 / M)
        with Stopwatch() as factorisation:
            cho_factor(H, lower=True)
        row: dict[str, Any] = {"T": T, "M": M}
        for name, block in (("w >= 0", None), ("simplex", M)):
            with Stopwatch() as watch:
                found = solve(H, g, base, block)
            row[name] = watch.seconds / factorisation.seconds
            row[f"{name}, at 0"] = float((found.w == 0).mean())
            assert found.finished
        rows.append(row)
        print(f"  T M = {n:>5,}: w >= 0 {row['w >= 0']:6.1f}, simplex {row['simplex']:6.1f}")
    write("growth-programme", {"rows": rows})


def groups() -> None:
    """A mini-batch's weights by group DRO, which remembers every group, over a uniform step."""
    print("\n== a window of group DRO over one of uniform weights, by groups in memory")
    params = {"w": torch.zeros(50_000)}
    optimizer = tp.Adam(lr=1e-4).init(params)

    def fn(params: dict[str, torch.Tensor], task: Any) -> tuple[torch.Tensor, torch.Tensor]:
        output = params["w"][: len(task["x"])] * task["x"]
        return output, torch.ones_like(output)

    window = [
        [{"x": torch.ones(10_000), "info": {"group": str(10 * t + i)}} for i in range(10)]
        for t in range(5)
    ]
    objective = tp.Objective.from_function(fn, loss="mse")  # type: ignore[arg-type]
    found = {}
    for count in GROUPS:
        memory = {"step": 0, "rule": {"q": {str(g): 1.0 / count for g in range(count)}}}
        ratios = []
        for _ in range(ROUNDS):
            with Stopwatch() as base:
                tp.Uniform().plan(objective, params, optimizer, window)
            with Stopwatch() as watch:
                tp.GroupDRO().plan(objective, params, optimizer, window, state=memory)
            ratios.append(watch.seconds / base.seconds)
        found[count] = statistics.median(ratios)
        print(f"  {count:>6,} groups: {found[count]:.2f}")
    write("growth-groups", {"ratios": found})


def table_rows() -> None:
    """Reading a table of ten features and a hundred tasks, a second for each row."""
    print("\n== reading a table (CSV), time a row over that of the smallest")
    draw, seconds = np.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as folder:
        for count in ROWS:
            path = Path(folder) / f"{count}.csv"
            values = draw.standard_normal((count, 11)).round(4)
            head = ",".join(["task", *(f"f{i}" for i in range(10)), "target"])
            names = (f"task-{i % 100}" for i in range(count))
            lines = (f"{n},{','.join(map(str, row))}" for n, row in zip(names, values, strict=True))
            path.write_text("\n".join([head, *lines]))
            with Stopwatch() as watch:
                pool = load_table(path, task="task", target="target", kind="regression")
            assert pool.groups
            seconds.append(watch.seconds)
            each = watch.seconds / count / (seconds[0] / ROWS[0])
            print(f"  {count:>9,} rows: {each:.2f} ({1e6 * watch.seconds / count:.1f} us a row)")
    write("growth-rows", {"rows": ROWS, "seconds": seconds, "slope": slope([*ROWS], seconds)})


def main() -> None:
    """Everything that grows."""
    prepare_process()
    programmes()
    groups()
    table_rows()
    against("P", [50_048, 200_064, 1_000_064, 5_000_064], linear_plan)
    against("T", [2, 5, 15, 50], lambda T: real_plan(T, 4))
    against("M", [4, 16, 64, 128], lambda M: real_plan(2, M))


if __name__ == "__main__":
    main()
