"""What a plan costs on average: every window counts, the first and those with rejected trials too.

Each setting is one uniform training whose windows are planned by all contenders, one after another,
each with the memory of its own window before. The figure is the mean of the plans' processor times,
one worker, over the mean of those of T uniform steps. The cosine compares the deviations of a fast
plan, centred per mini-batch, with those of the full one. Nothing was chosen on the seed.

    python -m benchmarks every_window [SETTING] [WINDOWS] [SEED]

Without a setting all of them are measured, side by side in processes of their own: contenders take
turns within a process, so each ratio is of plans that were made under the same load.
"""

import itertools
import statistics
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import towpath as tp
from benchmarks.fidelity import deviations
from benchmarks.measure import Stopwatch, prepare_process, write
from benchmarks.windows import CORES, Scene, not_before, scenes
from towpath.control.deviations import cosine
from towpath.weighters import Weighter

CONTENDERS: dict[str, Weighter] = {
    "uniform": tp.Uniform(),
    "TOW()": tp.TOW(),
    "TOW.faithful()": tp.TOW.faithful(),
    "TOW.fast()": tp.TOW.fast(),
    "towards_targets()": tp.TOW.towards_targets(),
    "towards_targets(), fast": tp.TOW.towards_targets(query_share="auto"),
}
FULL = {"TOW.fast()": "TOW()", "towards_targets(), fast": "towards_targets()"}
"""the plan that a fast one stands for"""
SETTINGS: dict[str, tuple[str, float, int]] = {
    "maml-1e-4": ("maml", 1e-4, 100),
    "protonet-1e-4": ("protonet", 1e-4, 300),
    "protonet-1e-3": ("protonet", 1e-3, 300),
}
"""learner, meta learning rate, and the step from which the second half of the windows is taken"""
WINDOWS, SEED = 40, 11
Row = dict[str, Any]


def windows(name: str, count: int, seed: int) -> Iterator[Scene]:
    """The windows of a setting: half of them from the first on, half from a later step on."""
    learner, rate, later = SETTINGS[name]
    ahead = scenes(learner, lr=rate, workers=1, seed=seed)
    yield from itertools.islice(ahead, count - count // 2)
    yield from itertools.islice(not_before(later, ahead), count // 2)


def measure(here: Scene, memory: dict[str, Any]) -> dict[str, Row]:
    """Plan one window with every contender; `memory` holds what each remembers of the last."""
    rows: dict[str, Row] = {}
    plans: dict[str, tp.Plan] = {}
    tp.Uniform().plan(here.objective, here.params, here.optimizer, here.window)  # warm caches
    for name, weighter in CONTENDERS.items():
        with Stopwatch() as watch:
            plan = weighter.plan(
                here.objective,
                here.params,
                here.optimizer,
                here.window,
                targets=here.targets if "targets" in name else None,
                state=memory.get(name),
            )
        memory[name], plans[name] = plan.weighter_state, plan
        rows[name] = {
            "seconds": watch.seconds,
            "evaluations": plan.evaluations,
            "sketches": plan.sketches,
            "parts": plan.part_evaluations,
            "trials": [line.trials for line in plan.history],
            "eps": [line.eps for line in plan.history],
            "status": plan.status.value,
            "predicted": plan.predicted_decrease,
            "actual": plan.actual_decrease,
            "spread": plan.spread,
        }
    for name, full in FULL.items():
        mine, whole = deviations(plans[name]), deviations(plans[full])
        if float(mine.norm()) > 0 and float(whole.norm()) > 0:
            rows[name]["cosine"] = cosine(mine, whole)
    return rows


def summary(rows: list[dict[str, Row]]) -> dict[str, Row]:
    """Means over all windows, and the median cosine of the fast plans."""
    base = statistics.fmean(row["uniform"]["seconds"] for row in rows)
    found: dict[str, Row] = {}
    for name in CONTENDERS:
        mine = [row[name] for row in rows]
        ratios = [row[name]["seconds"] / row["uniform"]["seconds"] for row in rows]
        cosines = [row["cosine"] for row in mine if "cosine" in row]
        found[name] = {
            "mean": statistics.fmean(row["seconds"] for row in mine) / base,
            "median": statistics.median(ratios),
            "largest": max(ratios),
            "evaluations": statistics.fmean(row["evaluations"] for row in mine),
            "sketches": statistics.fmean(row["sketches"] for row in mine),
            "moved": sum(row["spread"] > 1e-6 for row in mine),
            "cosine": statistics.median(cosines) if cosines else None,
            "windows": len(mine),
        }
    return found


def of_setting(name: str, count: int, seed: int) -> None:
    """Plan the windows of a setting, print a line for each and the means."""
    prepare_process()
    rows: list[dict[str, Row]] = []
    memory: dict[str, Any] = {}
    for here in windows(name, count, seed):
        rows.append(measure(here, memory))
        base = rows[-1]["uniform"]["seconds"]
        last = {k: (round(v["seconds"] / base, 2), v["trials"]) for k, v in rows[-1].items()}
        print(f"  {here.name}: {last}", flush=True)
    print(f"\n== every window, {name}, seed {seed}, {len(rows)} windows")
    for contender, row in (found := summary(rows)).items():
        close = "" if row["cosine"] is None else f", cosine {row['cosine']:.3f}"
        print(
            f"  {contender:<26} {row['mean']:5.2f} (median {row['median']:.2f}, largest "
            f"{row['largest']:.2f}), {row['evaluations']:.1f} evaluations, "
            f"{row['sketches']:.1f} sketches, moved {row['moved']}{close}"
        )
    write(f"every-window-{name}", {"summary": found, "rows": rows})


def apart(name: str) -> str:
    """Measure a setting in a process of its own; what it prints."""
    command = [sys.executable, "-m", "benchmarks", "every_window", name]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    """All settings, or the one that is named."""
    asked = sys.argv[2:]
    if asked:
        count = int(asked[1]) if len(asked) > 1 else WINDOWS
        of_setting(asked[0], count, int(asked[2]) if len(asked) > 2 else SEED)
        return
    with ThreadPoolExecutor(CORES) as pool:
        for printed in pool.map(apart, SETTINGS):
            print(printed, end="", flush=True)


if __name__ == "__main__":
    main()
