"""Class prototypes: the mean feature of each class's support samples, however many it has."""

import torch
from torch import Tensor
from torch.nn import functional


def prototypes(features: Tensor, labels: Tensor) -> Tensor:
    """Return the mean `[ways, D]` of `features [S, D]` over each label 0..ways-1."""
    check_labels(labels)
    members = functional.one_hot(labels.long()).T.to(features.dtype)  # [ways, S]
    shots = members.sum(1, keepdim=True)  # [ways, 1]
    return (members / shots) @ features


def check_labels(labels: Tensor) -> None:
    """Raise a ValueError unless a support set has integer labels 0..ways-1, each at least once.

    Args:
        labels: the targets `[S]` of the support set.
    """
    if labels.is_floating_point():
        raise ValueError(
            f"Found {labels.dtype} support targets; expected integer labels 0..ways-1, because "
            "this learner tells classes apart. Use a learner of the MAML family for regression."
        )
    shots = torch.bincount(labels.long())  # [ways]
    if not bool(shots.all()):
        empty = (shots == 0).nonzero().flatten().tolist()
        raise ValueError(
            f"Found no support sample of the classes {empty}; expected at least one of each of "
            f"the {len(shots)} classes. Relabel the task's classes 0..ways-1 without gaps."
        )
