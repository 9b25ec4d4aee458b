"""Class prototypes: the mean feature of each class's support samples, however many it has."""

import torch
from torch import Tensor

from towpath.losses.label_range import label_range

SHOWN = 10
"""classes without a sample that a message names"""


def prototypes(features: Tensor, labels: Tensor) -> Tensor:
    """Return the mean `[ways, D]` of `features [S, D]` over each label 0..ways-1."""
    members = memberships(labels).T.to(features.dtype)  # [ways, S]
    shots = members.sum(1, keepdim=True)  # [ways, 1]
    return (members / shots) @ features


def memberships(labels: Tensor) -> Tensor:
    """Return `[S, ways]`, whether a support sample is of a class, after a check of the labels."""
    ways = checked_ways(labels)
    # not one_hot, which looks for the largest label once more
    return labels[:, None] == torch.arange(ways, device=labels.device)


def checked_ways(labels: Tensor) -> int:
    """Return the number of classes of a support set.

    Raise a ValueError unless it has integer labels 0..ways-1, each at least once.

    Args:
        labels: the targets `[S]` of the support set.
    """
    if labels.is_floating_point():
        raise ValueError(
            f"Found {labels.dtype} support targets; expected integer labels 0..ways-1, because "
            "this learner tells classes apart. Use a learner of the MAML family for regression."
        )
    if labels.ndim != 1:
        one_hot = labels.ndim == 2 and labels.shape[1] > 1
        remedy = (
            "Turn one-hot labels into numbers: labels.argmax(1)."
            if one_hot
            else "Reshape them: labels.reshape(-1)."
        )
        raise ValueError(
            f"Found support labels of shape {list(labels.shape)}; expected shape "
            f"{list(labels.shape[:1]) or [1]}, one number for each sample. {remedy}"
        )
    if not len(labels):
        raise ValueError("Found no support sample; expected at least one of each class.")
    found = label_range(labels)
    if found.least < 0:
        raise ValueError(
            f"Found the support label {found.least}; expected labels 0..ways-1. Leave out "
            "samples without a label."
        )
    if found.distinct <= found.most:
        ways = found.most + 1
        raise ValueError(
            f"Found no support sample of the classes {_empty(labels, ways - found.distinct)}; "
            f"expected at least one of each of the {ways:,} classes. Relabel the task's classes "
            "0..ways-1 without gaps."
        )
    return found.most + 1


def _empty(labels: Tensor, count: int) -> str:
    """Return the first classes without a sample, and how many there are if those are not all.

    Labels that were never numbered from 0, such as identifiers of a database, may leave out
    millions of classes, so these are not counted one by one.

    Args:
        labels: the labels `[S]`, at least 0.
        count: how many classes have no sample.
    """
    there = set(labels.tolist())
    # among the first S + SHOWN numbers at least SHOWN are no label
    first = [c for c in range(len(labels) + SHOWN) if c not in there][: min(count, SHOWN)]
    return f"{first}" if count <= SHOWN else f"{first} and {count - SHOWN:,} more"
