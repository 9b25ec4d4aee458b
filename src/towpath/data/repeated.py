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

    Two tasks are the same if they hold the same samples and say the same of them: equal numbers, or
    the same samples in one class, whatever that class is called. So two columns of a table that
    were measured on the same rows are two tasks. Which samples are in the support set and which in
    the query set is ignored.

    Args:
        tasks: the tasks to compare with one another.
    """
    holders: dict[tuple[str, bytes], list[int]] = {}  # sample -> the first tasks that hold it
    first: dict[frozenset[frozenset[bytes]], int] = {}
    same: dict[int, int] = {}
    mostly: dict[int, int] = {}
    for i, task in enumerate(tasks):
        parts = _parts(task)
        if parts in first:
            same[i] = first[parts]
            continue
        first[parts] = i
        # what another column of a table says of the same row is another sample
        own = {(str(task.info.get("task", "")), digest) for part in parts for digest in part}
        shared = Counter(other for sample in own for other in holders.get(sample, ()))
        for nearest, count in shared.most_common(1):
            if count >= MOSTLY * len(own):
                mostly[i] = nearest
        for sample in own:
            if len(others := holders.setdefault(sample, [])) < HOLDERS:
                others.append(i)
    total = sum(len(task.support_y) + len(task.query_y) for task in tasks)
    return Repeated(same, mostly, len(holders), total)


def _parts(task: Episode) -> frozenset[frozenset[bytes]]:
    """Return the samples of a task by class, as digests; in one part where targets are numbers.

    Numbers are scaled task by task, so those of a table are told apart by their column instead.
    """
    column = str(task.info.get("task", "")).encode()
    parts: dict[bytes, set[bytes]] = {}
    for xs, ys in ((task.support_x, task.support_y), (task.query_x, task.query_y)):
        for x, y in zip(xs, ys, strict=True):
            number = y.is_floating_point()
            said = (column or _bytes(y)) if number else b""
            digest = hashlib.blake2b(_bytes(x) + said, digest_size=16).digest()
            parts.setdefault(b"" if number else _bytes(y), set()).add(digest)
    return frozenset(frozenset(part) for part in parts.values())


def _bytes(values: Tensor) -> bytes:
    return values.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
