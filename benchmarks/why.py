"""Why does the paper's cost not beat uniform weights? Measured window by window.

python -m benchmarks why      writes docs/results/why.md

At several points of uniform training the same windows are planned in several ways, and trained with
the planned weights, with the same weights dealt to other tasks of the mini-batch, and with equal
ones. All are then compared on fresh tasks of the training stream, which none of them has seen.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from torch import Tensor

import towpath as tp
from benchmarks.measure import prepare_process
from benchmarks.windows import Scene, real_set, scenes
from benchmarks.written import DOCS, reading
from towpath import data
from towpath.data import Episode

PAGE = "why"
FRESH = 60
"""fresh tasks by which a window's outcome is judged"""
WINDOWS = 5
"""windows at each point of training"""
POINTS = (50, 200)
"""steps of uniform training"""
RATES = (1e-4, 1e-3)
"""the paper's learning rate, and that of docs/results"""
HORIZONS = (5, 10)
PLANS: Mapping[str, tp.TOW] = {
    "`tow-faithful`": tp.TOW.faithful(),
    "`tow`": tp.TOW(),
    "`tow` on the simplex": tp.TOW(bounds="simplex"),
    "`tow` on the simplex, scale-free (spread 0.5)": tp.TOW(beta="auto", bounds="simplex"),
}
SCALE_FREE = list(PLANS)[-1]


class Given(tp.MiniBatchWeighter):
    """Weights that are known beforehand."""

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows

    def initial_state(self) -> dict[str, Any]:
        """Return the number of the first mini-batch."""
        return {"t": 0}

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        """Return the weights of the next mini-batch."""
        return self.rows[state["t"]].to(batch.losses), {"t": state["t"] + 1}


@dataclass
class Seen:
    """What windows planned in one way came to."""

    spread: list[float] = field(default_factory=list)
    """mean distance of a weight from 1/M, in per cent of it, after the weights of a mini-batch are
    scaled to sum to 1"""
    length: list[float] = field(default_factory=list)
    """the sum of a mini-batch's weights, less 1, in per cent"""
    cost: list[float] = field(default_factory=list)
    """the decrease of J, in per cent of the nominal"""
    fresh: list[float] = field(default_factory=list)
    """the change of the loss of fresh tasks against uniform weights, in per cent of the loss"""
    dealt: list[float] = field(default_factory=list)
    """the same with the weights dealt to other tasks"""


def fresh_tasks(count: int) -> list[Episode]:
    """Tasks of the training classes that no window has: they are drawn with another seed."""
    pool = data.load_images(real_set(), split="train")
    sampler = data.EpisodeSampler(pool, data.EpisodeSpec(ways=5, shots=1, query=15), 1000)
    return [sampler.episode(i) for i in range(count)]


def dealt_anew(weights: Tensor, seed: int) -> Tensor:
    """Return the weights of each mini-batch in a random order."""
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([row[torch.randperm(len(row), generator=generator)] for row in weights])


def look(scene: Scene, plans: Mapping[str, tp.TOW], fresh: Sequence[Episode]) -> dict[str, Seen]:
    """Plan one window in several ways, and judge what training with each leads to."""

    def loss_after(plan: tp.Plan) -> float:
        said = scene.objective.evaluate(plan.params, list(fresh), gradients=False)
        return float(said.losses.double().mean())

    def trained(weighter: Any) -> tp.Plan:
        plan: tp.Plan = weighter.plan(
            scene.objective, scene.params, scene.optimizer, scene.window, seed=scene.step
        )
        return plan

    base = loss_after(trained(tp.Uniform()))
    found = {}
    for name, tow in plans.items():
        plan = trained(tow)
        w = plan.weights.double()
        shares = w / w.sum(1, keepdim=True)
        M = w.shape[1]
        shuffled = trained(Given(dealt_anew(plan.weights, scene.step)))
        found[name] = Seen(
            [100 * float((M * shares - 1).abs().mean())],
            [100 * float(w.sum(1).mean() - 1)],
            [100 * plan.actual_decrease / plan.nominal_cost],
            [100 * (loss_after(plan) / base - 1)],
            [100 * (loss_after(shuffled) / base - 1)],
        )
    return found


def gathered(lr: float, plans: Mapping[str, tp.TOW], horizon: int = 5) -> dict[str, Seen]:
    """Look at windows at every point of training."""
    fresh, total = fresh_tasks(FRESH), {name: Seen() for name in plans}
    for point in POINTS:
        made = scenes("protonet", step=point, horizon=horizon, query=5, lr=lr, workers=1)
        for scene in islice(made, WINDOWS):
            for name, one in look(scene, plans, fresh).items():
                for key, values in vars(one).items():
                    getattr(total[name], key).extend(values)
    return total


def with_error(values: Sequence[float]) -> str:
    """Return the mean with its standard error over windows."""
    error = statistics.stdev(values) / len(values) ** 0.5
    return f"{statistics.fmean(values):+.2f} ±{error:.2f}"


def correlation(seen: Seen) -> str:
    """Return how the decrease of J and that of fresh tasks go together over windows."""
    if statistics.pstdev(seen.cost) == 0 or statistics.pstdev(seen.fresh) == 0:
        return "-"
    gains = [-value for value in seen.fresh]
    return f"{statistics.correlation(seen.cost, gains):+.2f}"


def lines(found: Mapping[str, Seen]) -> list[str]:
    """Return the table of one learning rate or of several horizons."""
    head = ["plan", "spread of the weights (%)", "step length (%)", "decrease of J (%)"]
    head += ["fresh tasks: planned weights (%)", "the same weights, dealt anew (%)"]
    head += ["correlation of the two decreases"]
    rows = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name, seen in found.items():
        cells = [name, f"{statistics.fmean(seen.spread):.1f}"]
        cells += [with_error(v) for v in (seen.length, seen.cost, seen.fresh, seen.dealt)]
        rows.append(f"| {' | '.join([*cells, correlation(seen)])} |")
    return rows


def main() -> None:
    """Measure, print, and write the page."""
    prepare_process()
    text = [
        "# Why does the paper's cost not beat uniform weights?",
        "",
        "Written by `python -m benchmarks why`: Omniglot, a prototypical network, Adam, T = 5, M = "
        f"10, five query images, {WINDOWS} windows each after {' and '.join(map(str, POINTS))} "
        "steps of uniform training. Every window is planned in several ways from the same state. "
        f"What counts is the loss of {FRESH} fresh tasks after the window (fifteen query images), "
        "against that after training with uniform weights: below 0 is better. Means over windows "
        "with standard errors.",
        "",
    ]
    for rate in RATES:
        found = gathered(rate, PLANS)
        text += [f"## Learning rate {rate:g}", "", *lines(found), ""]
        print("\n".join(text[-3 - len(PLANS) :]), flush=True)
    far = {}
    for T in HORIZONS:
        far[f"T = {T}"] = gathered(RATES[-1], {SCALE_FREE: PLANS[SCALE_FREE]}, T)[SCALE_FREE]
    text += [f"## A longer horizon, learning rate {RATES[-1]:g}, {SCALE_FREE}", "", *lines(far), ""]
    print("\n".join(text[-2 - len(far) :]), flush=True)
    (DOCS / f"{PAGE}.md").write_text("\n".join([*text, reading(PAGE)]).rstrip() + "\n")


if __name__ == "__main__":
    main()
