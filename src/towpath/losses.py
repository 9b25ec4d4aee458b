"""The two losses, as defined by `torch.nn.functional`, with a factor of their Hessian.

For outputs `f [n, C]` the loss is a mean over samples j of `loss_j(f_j)`. `R_j [C, C]` is a
factor of the loss Hessian in the outputs, `R_j R_j' = d2 loss_j / df_j2`:

    cross-entropy   R = diag(sqrt p) - p sqrt(p)',   p = softmax(f)
    squared error   R = sqrt(2 / C) I
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch.nn import functional

LossName = Literal["cross_entropy", "mse"]


@dataclass(frozen=True)
class Loss:
    """A loss and the product of its Hessian factor with a vector."""

    name: str
    value: Callable[[Tensor, Tensor], Tensor]
    """(outputs, targets) -> scalar, mean over everything."""
    factor: Callable[[Tensor, Tensor], Tensor]
    """(outputs [n, C], e [n, C]) -> R e, row by row."""
    rows: Callable[[Tensor], Tensor]
    """outputs of any shape -> one sample a row `[n, C]`."""
    classifies: bool
    """Whether integer targets are classes, so that an accuracy can be counted."""


def _cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of `outputs [N, C, ...]` for labels or class probabilities."""
    # class scores are in dimension 1, or in the only dimension
    classes = outputs.shape[min(1, outputs.ndim - 1)] if outputs.ndim else 1
    if classes < 2:
        # a softmax over one score is 1: the loss would be 0 whatever the network does
        raise ValueError(
            f"Found outputs of shape {list(outputs.shape)}, one score a sample; expected a score "
            "for each of at least 2 classes for loss='cross_entropy'. Use loss='mse' for "
            "regression, or give the network two outputs for two classes."
        )
    if targets.is_floating_point():
        # class probabilities, as torch.nn.functional.cross_entropy takes them
        if targets.shape != outputs.shape or not _are_probabilities(targets):
            raise ValueError(
                f"Found {targets.dtype} targets of shape {list(targets.shape)}; expected integer "
                "labels for loss='cross_entropy', or class probabilities of the outputs' shape "
                "(at least 0, with the sum 1 over the classes). Use loss='mse' for regression "
                "tasks."
            )
        return functional.cross_entropy(outputs, targets)
    if bool((targets < 0).any()):
        raise ValueError(
            f"Found the label {int(targets.min())}; expected labels 0..{outputs.shape[-1] - 1}. "
            "Leave out samples without a label: an ignored label would still count as curvature."
        )
    try:
        return functional.cross_entropy(outputs, targets)
    except IndexError as error:
        raise ValueError(
            f"Found labels {int(targets.min())}..{int(targets.max())} with {outputs.shape[-1]} "
            f"outputs; expected labels 0..{outputs.shape[-1] - 1}. Build the model with the ways "
            "of the tasks, or relabel the task's classes from 0."
        ) from error


def _are_probabilities(targets: Tensor) -> bool:
    """Return whether the numbers of each sample are at least 0 and sum to 1, up to rounding."""
    sums = targets.detach().double().sum(min(1, targets.ndim - 1))
    return bool((targets >= 0).all()) and bool(((sums - 1).abs() < 1e-2).all())


def _cross_entropy_factor(outputs: Tensor, e: Tensor) -> Tensor:
    p = outputs.softmax(-1)
    root = p.sqrt()
    return root * e - p * (root * e).sum(-1, keepdim=True)


def _class_rows(outputs: Tensor) -> Tensor:
    """Return the class scores of each sample in a row: they are in dimension 1, or the only one."""
    if outputs.ndim == 1:
        outputs = outputs[None]
    return outputs.movedim(1, -1).reshape(-1, outputs.shape[1])


def _mse(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean squared error of `outputs` for float targets of the same shape."""
    # Without this, [N, 1] against [N] would broadcast to N x N pairs in silence.
    if outputs.shape != targets.shape or not targets.is_floating_point():
        raise ValueError(
            f"Found outputs of shape {list(outputs.shape)} and {targets.dtype} targets of "
            f"shape {list(targets.shape)}; expected float targets of the outputs' shape for "
            "loss='mse'. Reshape the targets, or use loss='cross_entropy' for labels."
        )
    return functional.mse_loss(outputs, targets)


def _mse_factor(outputs: Tensor, e: Tensor) -> Tensor:
    return math.sqrt(2.0 / outputs.shape[-1]) * e


def _number_rows(outputs: Tensor) -> Tensor:
    """Return the numbers of each sample in a row."""
    return outputs.reshape(outputs.shape[0], -1) if outputs.ndim else outputs.reshape(1, 1)


LOSSES: dict[str, Loss] = {
    "cross_entropy": Loss(
        "cross_entropy", _cross_entropy, _cross_entropy_factor, _class_rows, classifies=True
    ),
    "mse": Loss("mse", _mse, _mse_factor, _number_rows, classifies=False),
}
"""The losses by the name that a recipe and `Objective.from_function` give them."""


def check_loss(loss: str) -> None:
    """Raise a ValueError for a name that is not the name of a loss."""
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ValueError(
            f"Found loss={loss!r}; expected 'cross_entropy' or 'mse'. Pass 'cross_entropy' for "
            "classification, 'mse' for regression."
        )


def task_loss(loss: LossName, outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the loss of `outputs [N, C]` for labels `[N]`, or for targets `[N, C]` (mse)."""
    return LOSSES[loss].value(outputs, targets)


def loss_named(name: str) -> Loss:
    """Return the loss with this name, or raise a ValueError that lists the names."""
    if not isinstance(name, str) or name not in LOSSES:
        raise ValueError(
            f"Unknown loss {name!r}; expected one of {sorted(LOSSES)}. "
            "Both mean what torch.nn.functional means by them."
        )
    return LOSSES[name]
