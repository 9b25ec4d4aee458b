"""Cost of a fast plan against its fidelity to the full one: where is the knee?

For each share of the query images, over at least 20 windows of real training (half of them from the
start, half from step 300): the cosine of the deviations, centred per mini-batch, with those of the
default plan (two iterations, curvature, whole query sets), and the cost over uniform steps in CPU
time, one thread, all contenders one after another in every window. The preset was chosen on the
windows of seeds 0 to 2; these are others.
"""

import itertools
import statistics
import sys

import torch

import towpath as tp
from benchmarks.measure import Stopwatch, prepare_process, write
from benchmarks.windows import Scene, not_before, scenes
from towpath.control.deviations import centred, cosine

SHARES = (4, 7, 10)
QUERY = 15
RATE = 1e-4
KEYS = ("cosine", "cost", "rejected", "accepted", "retried")
STEPS, WINDOWS, SEED = (0, 300), 20, 3
TARGETS = {
    name: getattr(tp.TOW.towards_targets(shrink="none"), name)
    for name in ("beta", "bounds", "shrink", "spread", "scale")
}


def deviations(plan: tp.Plan) -> torch.Tensor:
    """What changes the mix of tasks."""
    return centred(plan.weights.double())


def fast(share: int, **options: object) -> tp.TOW:
    """A plan whose costates come from `share` of 15 images a class."""
    return tp.TOW.fast(query_share=share / QUERY, **options)


def measure(here: Scene, rows: dict[str, dict[str, list[float]]]) -> None:
    """One window: all contenders after one another."""

    def run(tow: tp.TOW | tp.Uniform, targets: bool = False) -> tuple[tp.Plan, float]:
        goals = here.targets if targets else None
        with Stopwatch() as watch:
            plan = tow.plan(here.objective, here.params, here.optimizer, here.window, targets=goals)
        return plan, watch.seconds

    run(tp.Uniform())  # the window's images into the cache, for all alike
    _, base = run(tp.Uniform())

    def note(name: str, plan: tp.Plan, seconds: float, full: tp.Plan) -> None:
        row = rows.setdefault(name, {key: [] for key in KEYS})
        moved = float(deviations(full).norm()) > 0 and float(deviations(plan).norm()) > 0
        if moved:  # a plan that stayed uniform has no direction: it is counted as rejected
            row["cosine"].append(cosine(deviations(plan), deviations(full)))
        row["rejected"].append(float(not moved))
        row["cost"].append(seconds / base)
        once = plan.query_share == 1 or plan.evaluations < 2 * len(here.window) - 1
        if once and all(line.trials == 1 and line.eps == 1.0 for line in plan.history):
            row["accepted"].append(seconds / base)
        else:
            row["retried"].append(seconds / base)

    for targets in (False, True)[: 2 if here.name.startswith("protonet") else 1]:
        options = TARGETS if targets else {}
        label = "targets, " if targets else ""
        reference = tp.TOW.towards_targets(shrink="none") if targets else tp.TOW()
        full, seconds = run(reference, targets)
        note(f"{label}full plan", full, seconds, full)
        for share in (4,) if targets else SHARES:
            plan, seconds = run(fast(share, **options), targets)
            note(f"{label}{share} of {QUERY}", plan, seconds, full)


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def main() -> None:
    """Both learners."""
    prepare_process()
    for learner in sys.argv[2:] or ("protonet", "maml"):
        rows: dict[str, dict[str, list[float]]] = {}
        ahead = scenes(learner, lr=RATE, workers=1, seed=SEED)
        for step in STEPS:
            here = not_before(step, ahead)
            for window in itertools.islice(here, WINDOWS):
                measure(window, rows)
                last = {k: (v["cosine"][-1:], round(v["cost"][-1], 2)) for k, v in rows.items()}
                print(f"  {window.name}: {last}", flush=True)
        print(f"\n== fidelity, {learner}, Adam {RATE:g}, {len(STEPS) * WINDOWS} windows")
        summary = {}
        for name, row in rows.items():
            if len(row["cosine"]) < 2:
                continue
            quartiles = statistics.quantiles(row["cosine"], n=4)
            summary[name] = {
                "cosine": quartiles,
                "cost": statistics.median(row["cost"]),
                "accepted": _median(row["accepted"]),
                "retried": _median(row["retried"]),
                "rejected": sum(row["rejected"]),
                "windows": len(row["cost"]),
            }
            print(
                f"  {name:<22} cost {summary[name]['cost']:.2f} x uniform, cosine "
                f"{quartiles[1]:.3f} (quartiles {quartiles[0]:.3f} to {quartiles[2]:.3f}), "
                f"{sum(row['rejected']):.0f} of {len(row['cost'])} kept uniform"
            )
            for what in ("accepted", "retried"):
                if row[what]:
                    print(
                        f"      first trials {what} in {len(row[what])} windows: "
                        f"{_median(row[what]):.2f} x uniform"
                    )
        write(f"fidelity-{learner}", {"rows": summary})


if __name__ == "__main__":
    main()
