"""Tasks that hold the same samples as another one: a few checked samples, counted many times."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.data.episode import Episode

MOSTLY = 0.5
"""share of a task's samples that an earlier task holds as well, from which on it is named"""
HOLDERS = 50
"""number of tasks remembered for each sample, so that thousands of tasks of few samples are quick;
exact repetitions are found however many there are"""


@dataclass(frozen=True)
class Repeated:
    """The tasks of a list that say the same as an earlier one, by position."""

    same: dict[int, int]
    """tasks with exactly the samples of an earlier one, and the position of that one"""
    mostly: dict[int, int]
    """other tasks that share at least half of their samples with an earlier one, and which"""
    samples: int
    """number of different samples of all tasks together"""
    total: int
    """number of samples of all tasks, each counted as often as a task holds it"""


def repeated(tasks: Sequence[Episode]) -> Repeated:
    """Find the tasks that repeat an earlier one.

    Samples are compared by their inputs: labels are numbers within a task, which another task gives
    in another order. Which samples are in the support set and which in the query set is ignored.

    Args:
        tasks: the tasks to compare with one another.
    """
    held = [_samples(task) for task in tasks]
    holders: dict[bytes, list[int]] = {}  # sample -> the first tasks that hold it
    first: dict[frozenset[bytes], int] = {}
    same: dict[int, int] = {}
    mostly: dict[int, int] = {}
    for i, own in enumerate(held):
        if own in first:
            same[i] = first[own]
            continue
        first[own] = i
        shared = Counter(other for sample in own for other in holders.get(sample, ()))
        for nearest, count in shared.most_common(1):
            if count >= MOSTLY * len(own):
                mostly[i] = nearest
        for sample in own:
            if len(others := holders.setdefault(sample, [])) < HOLDERS:
                others.append(i)
    total = sum(len(task.support_y) + len(task.query_y) for task in tasks)
    return Repeated(same, mostly, len(holders), total)


def _samples(task: Episode) -> frozenset[bytes]:
    """Return a digest of each sample of a task, support and query."""
    return frozenset(_digest(x) for part in (task.support_x, task.query_x) for x in part)


def _digest(x: Tensor) -> bytes:
    # as bytes, because NumPy has no bfloat16
    content = x.detach().cpu().reshape(-1).view(torch.uint8).numpy()
    return hashlib.blake2b(content, digest_size=16).digest()
