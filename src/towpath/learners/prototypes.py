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
    if bool((labels < 0).any()):
        raise ValueError(
            f"Found the support label {int(labels.min())}; expected labels 0..ways-1. Leave out "
            "samples without a label."
        )
    shots = torch.bincount(labels.long())  # [ways]
    if not bool(shots.all()):
        empty = (shots == 0).nonzero().flatten().tolist()
        raise ValueError(
            f"Found no support sample of the classes {empty}; expected at least one of each of "
            f"the {len(shots)} classes. Relabel the task's classes 0..ways-1 without gaps."
        )
