"""Peak memory of a whole plan beyond one evaluation of M tasks, in units of T M P numbers.

Each figure comes from a process of its own. The objective is linear and its tasks share one vector,
so that what is measured is the planner's: gradients, models, trials. What one evaluation of M tasks
needs (the gradients `[M, P]` of one mini-batch and a task's graph) comes before the measurement.

Two figures: what is held (every large block mapped by itself, so that freed memory counts as
freed), and what the process grows by under glibc's default, which keeps some of what was freed.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

import towpath as tp
from benchmarks.measure import RESULTS, machine

T, M = 5, 10
TARGET = 1.5
PLANS: dict[str, tp.TOW] = {
    "TOW()": tp.TOW(beta=0.1),
    "TOW(bounds='simplex')": tp.TOW(beta=0.1, bounds="simplex"),
    "TOW.faithful()": tp.TOW.faithful(beta=0.1),
    "TOW(bounds='backtrack')": tp.TOW(beta=0.1, bounds="backtrack"),
    "TOW(bounds='backtrack', value='exact')": tp.TOW(beta=0.1, bounds="backtrack", value="exact"),
    "TOW.towards_targets(), 2 a mini-batch": tp.TOW.towards_targets(),
}


def problem(P: int) -> tuple[tp.Objective, dict[str, Tensor], list[list[int]]]:
    """P parameters, tasks that take next to no memory."""
    base = torch.randn(P + 1000, generator=torch.Generator().manual_seed(0)) / P**0.5

    def fn(params: Mapping[str, Tensor], task: int) -> tuple[Tensor, Tensor]:
        output = (params["w"] @ base[task : task + P])[None]  # a view: no copy of the inputs
        return output, torch.full_like(output, 1.0 + task % 3)

    window = [[t * M + i for i in range(M)] for t in range(T)]
    return tp.Objective.from_function(fn, loss="mse"), {"w": torch.zeros(P)}, window


def peak() -> int:
    """The largest resident size of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss of a child begins at its parent's size
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return grown if sys.platform == "darwin" else grown * 1024


def forget_peak() -> None:
    """Let the peak start again from the current size, where the system can."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")


def measure(name: str, P: int) -> None:
    """Print what a plan adds to the peak (called in a fresh process)."""
    torch.set_num_threads(1)
    tow = PLANS[name]
    for size in (1000, P):
        objective, params, window = problem(size)
        # rates that move the output by 0.1 a step and an eps that leaves the step smooth
        state = tp.Adam(lr=0.3 / size**0.5, eps=3 / size**0.5).init(params)
        goals = [[900, 901]] * T if "targets" in name else None
        objective.evaluate(params, window[0])
        before = peak()
        plan = tow.plan(objective, params, state, window, targets=goals)
        grown = peak() - before
    assert plan.cost < plan.nominal_cost
    trials = [line.trials for line in plan.history]
    print(json.dumps({"units": grown / 4 / (T * M * P), "trials": trials}))


def of_plan(name: str, P: int = 1_000_000, *, mapped: bool = True) -> dict[str, object]:
    """The figure of one kind of plan, from a process of its own."""
    code = f"import benchmarks.memory as m; m.measure({name!r}, {P})"
    environment = {**os.environ, **({"MALLOC_MMAP_THRESHOLD_": "65536"} if mapped else {})}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    figure: dict[str, object] = json.loads(done.stdout.strip().splitlines()[-1])
    return figure


def main() -> None:
    """All plans at a million parameters."""
    print(f"\n== memory of a plan beyond one evaluation, P = 1,000,000, T = {T}, M = {M}, Adam")
    rows = {}
    for name in PLANS:
        row = of_plan(name)
        row["default allocator"] = of_plan(name, mapped=False)["units"]
        rows[name] = row
        print(
            f"  {name:<42} {row['units']:.2f} T M P numbers held, {row['default allocator']:.2f} "
            f"with the default allocator   trials {row['trials']}",
            flush=True,
        )
    print(f"  (target: {TARGET:g})")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "memory.json").write_text(json.dumps({"machine": machine(), **rows}, indent=1))


if __name__ == "__main__":
    main()
