"""Figures of a comparison, as PNG files: validation curves and weights over time."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from towpath.reports.charts.png import CLEAN, WRONG, save
from towpath.runs.comparison import ComparedRun, Comparison
from towpath.runs.read import read_run
from towpath.runs.run_data import RunData
from towpath.runs.smoothing import moving_average

# Okabe and Ito's colours: told apart by people who see colours differently, and in print
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#F0E442")
PANELS_A_ROW = 4


def write_figures(folder: Path, result: Comparison) -> list[Path]:
    """Write `curves.png` and, where tasks were mislabelled on purpose, `weights.png`."""
    runs = _by_label(folder, result.runs)
    everybody = [run for own in runs.values() for run in own]
    written = []
    if any(run.checks for run in everybody):
        written.append(save(_curves(runs, result.title), folder / "curves.png"))
    if any(run.wrong for run in everybody):
        written.append(save(_weights(runs, result.title), folder / "weights.png"))
    return written


def write_weights(path: Path, folder: Path, result: Comparison, labels: Sequence[str]) -> Path:
    """Draw the weights of clean and mislabelled tasks under some weighters of a comparison.

    Args:
        path: the PNG file to write.
        folder: the comparison's folder.
        result: the outcome of the comparison.
        labels: the weighters to show.
    """
    kept = [run for run in result.runs if run.label in labels]
    return save(_weights(_by_label(folder, kept), result.recipe), path)


def _by_label(folder: Path, compared: Sequence[ComparedRun]) -> dict[str, list[RunData]]:
    runs: dict[str, list[RunData]] = {}
    for run in compared:
        runs.setdefault(run.label, []).append(read_run(folder / run.folder))
    return runs


def _curves(runs: Mapping[str, Sequence[RunData]], title: str) -> Figure:
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    checks = (check for own in runs.values() for run in own for check in run.checks)
    metric = next(check.metric for check in checks)
    for colour, label in zip(np.resize(COLOURS, len(runs)), runs, strict=True):
        for i, run in enumerate(runs[label]):
            steps = [check.step for check in run.checks]
            values = [metric.scale * check.score for check in run.checks]
            name = label if i == 0 else None
            axes.plot(steps, values, color=colour, label=name, marker="o", markersize=3)
    axes.set_title(f"Validation {metric.words}: {title}")
    axes.set_xlabel("training step (mini-batches)")
    axes.set_ylabel(f"{metric.words} on the validation tasks{' (%)' if metric.percent else ''}")
    axes.legend(frameon=False)
    axes.grid(alpha=0.25)
    return figure


def _weights(runs: Mapping[str, Sequence[RunData]], title: str) -> Figure:
    columns = min(len(runs), PANELS_A_ROW)
    rows = -(-len(runs) // columns)
    figure = Figure(figsize=(2.6 * columns + 0.6, 3.0 * rows + 0.4), layout="constrained")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axes in grid.flat[len(runs) :]:
        axes.set_visible(False)
    for axes, (label, own) in zip(grid.flat, runs.items(), strict=False):
        for i, run in enumerate(own):
            for points, colour, name in (
                (run.clean, CLEAN, "clean tasks"),
                (run.wrong, WRONG, "mislabelled tasks"),
            ):
                line = moving_average(points)
                axes.plot(
                    [step for step, _ in points],
                    [value for _, value in points],
                    ".",
                    color=colour,
                    alpha=0.15,
                    markersize=3,
                )
                axes.plot(
                    [step for step, _ in line],
                    [value for _, value in line],
                    color=colour,
                    label=name if i == 0 else None,
                )
        axes.axhline(1.0, color="grey", linewidth=0.8, linestyle=":")
        axes.set_title(label, fontsize=10)
        axes.set_xlabel("step")
        axes.grid(alpha=0.25)
    for axes in grid[:, 0]:
        axes.set_ylabel("weight over the mini-batch's mean")
    grid[0][0].legend(frameon=False, fontsize=8)
    figure.suptitle(f"Weight of clean and mislabelled tasks: {title}", fontsize=11)
    return figure
