"""TOW in forty lines: MAML on sine waves, some of them with wrong targets, a few trusted.

Each task is a sine wave of its own amplitude and phase; three of ten tasks have query targets of
the wrong sign. The plan's cost comes from trusted waves, so the wrong ones should lose weight.
Prints the last plan and saves a figure.
"""

import math
import sys
from pathlib import Path

import torch
from matplotlib.figure import Figure
from rich.console import Console

import towpath as tp

WINDOWS = 12


def wave(generator: torch.Generator, *, wrong: bool = False) -> tp.Episode:
    """Ten support and twenty query points of a sine wave."""
    amplitude = 0.5 + 2.5 * torch.rand(1, generator=generator)
    phase = math.pi * torch.rand(1, generator=generator)
    x = 10 * torch.rand(30, 1, generator=generator) - 5
    y = amplitude * torch.sin(x - phase)
    sign = -1.0 if wrong else 1.0
    return tp.Episode(x[:10], y[:10], x[10:], sign * y[10:], info={"mislabelled": wrong})


def main(out: Path) -> tp.Plan:
    """Train for a while, plan one window, draw it."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = tp.backbones.MLP(inputs=1, outputs=1)
    learner = tp.learners.MAML(model, inner_lr=0.02, adaptation_steps=1, loss="mse")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    objective = tp.Objective(learner)
    tow = tp.TOW.towards_targets()
    for window_index in range(WINDOWS):
        window = [[wave(generator, wrong=i < 3) for i in range(10)] for _ in range(5)]
        trusted = [[wave(generator) for _ in range(6)] for _ in range(5)]
        plan = tow.plan(objective, model, optimizer, window, targets=trusted, seed=window_index)
        plan.apply_(model, optimizer)
    console = Console()
    console.print(str(plan), highlight=False)
    mean = plan.weights.mean(0)
    console.print(
        f"mean weight of a task with wrong targets: {float(mean[:3].mean()):.4f}, of a clean one: "
        f"{float(mean[3:].mean()):.4f}",
        highlight=False,
    )
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.add_subplot()
    colours = ["#D55E00"] * 3 + ["#009E73"] * 7
    axes.bar(range(10), mean.tolist(), color=colours)
    axes.axhline(0.1, color="grey", linestyle=":", label="uniform")
    axes.set_xlabel("task of the mini-batch (0 to 2 have wrong targets)")
    axes.set_ylabel("mean planned weight")
    axes.set_title("Planning towards trusted sine waves")
    axes.legend(frameon=False)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "sine.png", dpi=120)
    console.print(f"The figure is {out / 'sine.png'}", highlight=False)
    return plan


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "towpath-demo"))
