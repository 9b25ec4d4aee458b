"""A picture of sample tasks with their weights, as a PNG file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from towpath.data import Episode
from towpath.reports.charts.png import CLEAN, WRONG, save


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
    return save(figure, path)


def _per_class(episode: Episode) -> int:
    return max(1, len(episode.query_y) // episode.ways)


def _draw(axes: Any, image: np.ndarray[Any, Any], label: str, colour: str) -> None:
    picture = 1 - image[0] if image.shape[0] == 1 else image.transpose(1, 2, 0)
    axes.imshow(picture, cmap="gray", vmin=0, vmax=1)
    axes.set_title(label, fontsize=7, color=colour, pad=1)
