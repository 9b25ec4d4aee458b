"""Tables whose numbers say where they come from, so that a test can follow every row."""

from typing import Any

import numpy as np

from towpath.data.tables import Scaling, TablePool, TableTask


def marked_table(
    sizes: dict[str, tuple[int, ...]], labels: tuple[str, ...] = ("no", "yes"), **fields: Any
) -> TablePool:
    """A pool whose features are [row, code], with a task of so many rows a class for each name.

    The group of a task is the first letter of its name.
    """
    rows, tasks, start = [], [], 0
    for name, counts in sizes.items():
        codes = np.repeat(np.arange(len(counts)), counts)
        places = start + np.arange(len(codes))
        rows += [[place, code] for place, code in zip(places, codes, strict=True)]
        own = labels if len(counts) == len(labels) else tuple(f"{name}{c}" for c in codes)
        tasks.append(TableTask(name, name[0], places, codes, own[: len(counts)]))
        start += len(codes)
    features = np.array(rows, dtype=np.float32)
    return TablePool("marked", "train", features, tuple(tasks), **fields)


def numbers_table(sizes: dict[str, int], spread: float = 2.0, centre: float = 50.0) -> TablePool:
    """A regression whose target is ten times its row, plus a constant; features are [row]."""
    tasks, start = [], 0
    for name, count in sizes.items():
        places = start + np.arange(count)
        tasks.append(TableTask(name, name[0], places, 10.0 * places + centre))
        start += count
    features = np.arange(start, dtype=np.float32)[:, None]
    one = np.array([spread], dtype=np.float32)
    return TablePool(
        "numbers", "train", features, tuple(tasks), target_scaling=Scaling(0 * one, one)
    )
