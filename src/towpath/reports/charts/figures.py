"""Figures of a comparison, as PNG files: validation curves, weights over time, sample tasks."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from towpath.data import Episode
from towpath.files import write
from towpath.runs.comparison import ComparedRun, Comparison
from towpath.runs.read import read_run
from towpath.runs.run_data import RunData
from towpath.runs.smoothing import moving_average

# Okabe and Ito's colours: told apart by people who see colours differently, and in print
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#F0E442")
PANELS_A_ROW = 4
CLEAN, WRONG = "#009E73", "#D55E00"


def write_figures(folder: Path, result: Comparison) -> list[Path]:
    """Write `curves.png` and, where tasks were mislabelled on purpose, `weights.png`."""
    runs = _by_label(folder, result.runs)
    everybody = [run for own in runs.values() for run in own]
    written = []
    if any(run.checks for run in everybody):
        written.append(_save(_curves(runs, result.title), folder / "curves.png"))
    if any(run.wrong for run in everybody):
        written.append(_save(_weights(runs, result.title), folder / "weights.png"))
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
    return _save(_weights(_by_label(folder, kept), result.recipe), path)


def _by_label(folder: Path, compared: Sequence[ComparedRun]) -> dict[str, list[RunData]]:
    runs: dict[str, list[RunData]] = {}
    for run in compared:
        runs.setdefault(run.label, []).append(read_run(folder / run.folder))
    return runs


def _save(figure: Figure, path: Path) -> Path:
    # no date or version inside: the same run gives the same bytes
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120, metadata={"Software": None})
    write(path, content.getvalue())
    return path


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


def write_sample_tasks(
    path: Path,
    episodes: Sequence[Episode],
    weights: Sequence[float],
    title: str,
    average: float | None = None,
) -> Path:
    """Draw one row per task: support images, then query images under their given labels.

    Args:
        path: the PNG file to write.
        episodes: the tasks.
        weights: the weight of each task.
        title: title of the picture.
        average: the weight that others are relative to; None for the mean of those shown.
    """
    rows = len(episodes)
    ways = episodes[0].ways
    columns = ways + 1 + min(2 * ways, len(episodes[0].query_x))
    figure = Figure(figsize=(0.62 * columns + 2.2, 0.75 * rows + 0.9), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    uniform = sum(weights) / len(weights) if average is None else average
    for row, (episode, weight) in enumerate(zip(episodes, weights, strict=True)):
        wrong = bool(episode.info.get("mislabelled"))
        for axes in grid[row]:
            axes.set_axis_off()
        first_of = [int((episode.support_y == k).nonzero()[0, 0]) for k in range(ways)]
        for column, index in enumerate(first_of):
            _draw(grid[row][column], episode.support_x[index].numpy(), str(column), "black")
        # one image of each class in turn, so that few columns still show every label
        turn = sorted(range(len(episode.query_y)), key=lambda i: (i % _per_class(episode), i))
        for column, (image, label) in enumerate(
            (episode.query_x[i], episode.query_y[i]) for i in turn
        ):
            if ways + 1 + column >= columns:
                break
            axes = grid[row][ways + 1 + column]
            _draw(axes, image.numpy(), str(int(label)), WRONG if wrong else CLEAN)
        grid[row][0].text(
            -0.35,
            0.5,
            f"{'wrong labels' if wrong else 'clean'}\nweight x{weight / uniform:.2f}",
            transform=grid[row][0].transAxes,
            ha="right",
            va="center",
            fontsize=8,
            color=WRONG if wrong else CLEAN,
        )
    figure.suptitle(title, fontsize=10)
    return _save(figure, path)


def _per_class(episode: Episode) -> int:
    return max(1, len(episode.query_y) // episode.ways)


def _draw(axes: Any, image: np.ndarray[Any, Any], label: str, colour: str) -> None:
    picture = 1 - image[0] if image.shape[0] == 1 else image.transpose(1, 2, 0)
    axes.imshow(picture, cmap="gray", vmin=0, vmax=1)
    axes.set_title(label, fontsize=7, color=colour, pad=1)
