"""The labels of a mini-batch's tasks, whose ranges are read before the tasks are evaluated.

There is one read from the device for each evaluation of a mini-batch, however many tasks it has
(`towpath.losses.label_range`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from towpath.data.episode import Episode
from towpath.losses.label_range import LabelRanges
from towpath.objective.source import Answer, Ask
from towpath.objective.task import TaskFunction

MOST = 10_000
"""a tensor with more whole numbers than this is not taken for the labels of a task"""


def knowing_labels(ask: Ask[Answer], tasks: Iterable[Any], device: torch.device) -> Ask[Answer]:
    """Return the same question about a task, asked while the ranges of all labels are known.

    Args:
        ask: evaluates one task.
        tasks: the tasks that it will be asked of, and parts of them.
        device: the device of the parameters; labels elsewhere are left to their checks.
    """
    found = (labels for task in tasks for labels in labels_of(task))
    ranges = LabelRanges.read(labels for labels in found if labels.device == device)

    def asked(function: TaskFunction, i: int, seed: int | None) -> Answer:
        """Evaluate task i with the ranges known to the thread that does."""
        with ranges.known():
            return ask(function, i, seed)

    return asked


def labels_of(task: Any) -> Iterator[Tensor]:
    """Yield the tensors of a task that may be its labels: vectors of whole numbers.

    They are looked for in an episode, and in a task of the user's that is a tuple, a list or a
    mapping.
    """
    parts: Iterable[Any] = ()
    if isinstance(task, Episode):
        parts = (task.support_y, task.query_y)
    elif isinstance(task, Mapping):
        parts = task.values()
    elif isinstance(task, tuple | list):
        parts = task
    for part in parts:
        if isinstance(part, Tensor) and _may_be_labels(part):
            yield part


def _may_be_labels(tensor: Tensor) -> bool:
    whole = tensor.dtype in (torch.int64, torch.uint8)  # those that losses take
    plain = tensor.layout == torch.strided  # a sparse vector cannot be sorted
    return whole and plain and tensor.ndim == 1 and 0 < len(tensor) <= MOST
