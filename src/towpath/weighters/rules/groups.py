"""Tasks by group: helpers of the rules that have a weight for each group.

A task's group is `info["group"]`; tasks that name none make up one group, `""`. A rule's memory of
a group lasts for the whole training, so that its state grows with the number of groups of the data
and not with the number of steps.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from towpath.weighters.rules.minibatch import MiniBatch


def groups_of(batch: MiniBatch) -> list[str]:
    """Return the group of each task of a mini-batch."""
    return [str(info.get("group", "")) for info in batch.infos]


def sums(values: Tensor, groups: Sequence[str]) -> dict[str, float]:
    """Return the sum of a value `[M]` over each group's tasks, groups in order of appearance."""
    found = dict.fromkeys(groups, 0.0)
    for group, value in zip(groups, values.double().tolist(), strict=True):
        found[group] += value
    return found


def means(values: Tensor, groups: Sequence[str]) -> dict[str, float]:
    """Return the mean of a value `[M]` over the tasks of each group."""
    return {group: total / groups.count(group) for group, total in sums(values, groups).items()}


def each(weights: Mapping[str, float], groups: Sequence[str]) -> Tensor:
    """Return weights `[M]`, float64, in which every task has the weight of its group."""
    return torch.tensor([weights[group] for group in groups], dtype=torch.float64, device="cpu")


def shared(weights: Mapping[str, float], groups: Sequence[str]) -> Tensor:
    """Return weights `[M]`, float64, in which the tasks of a group share its weight equally."""
    return each({group: weights[group] / groups.count(group) for group in set(groups)}, groups)
