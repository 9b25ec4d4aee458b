"""Kinds of tasks where none are named: a k-means of the classes that tasks are made of.

A task is the indicator vector of its classes, `x_c = 1` where class c is in it. Centres are kept
sparse, as `{class: share of the cluster's tasks that have it}` with their squared norm: together
they hold no more numbers than the tasks that they were made from.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ITERATIONS = 100
Centre = dict[str, Any]
"""`norm`, the squared norm, and `shares`, by class"""


def clustered(tasks: Sequence[Sequence[str]], count: int, seed: int) -> list[Centre]:
    """Return the centres of Lloyd's algorithm, started from `count` tasks that the seed draws.

    It ends when no task changes its cluster. A cluster without a task keeps its centre.
    """
    names = sorted({name for classes in tasks for name in classes})
    place = {name: k for k, name in enumerate(names)}
    x = np.zeros((len(tasks), len(names)))
    for row, classes in zip(x, tasks, strict=True):
        row[[place[name] for name in classes]] = 1.0
    first = np.random.default_rng(seed).choice(len(tasks), size=count, replace=False)
    centres = x[np.sort(first)]
    member = np.full(len(tasks), -1)
    for _ in range(ITERATIONS):
        distances = (centres**2).sum(1)[None] - 2 * x @ centres.T  # without |x|^2, the same for all
        nearest = distances.argmin(1)
        if (nearest == member).all():
            break
        member = nearest
        for k in np.unique(member):
            centres[k] = x[member == k].mean(0)
    return [
        {
            "norm": float(row @ row),
            "shares": {names[k]: float(row[k]) for k in np.flatnonzero(row)},
        }
        for row in centres
    ]


def nearest(centres: Sequence[Mapping[str, Any]], classes: Sequence[str]) -> int:
    """Return the index of the cluster whose centre is nearest to a task of these classes."""
    own = set(classes)
    distances = [
        centre["norm"] - 2 * sum(centre["shares"].get(name, 0.0) for name in sorted(own))
        for centre in centres
    ]
    return distances.index(min(distances))
