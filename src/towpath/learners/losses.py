"""The two losses of a task, as `torch.nn.functional` means them: the mean over everything."""

from typing import Literal

from torch import Tensor
from torch.nn import functional

Loss = Literal["cross_entropy", "mse"]


def check_loss(loss: str) -> None:
    """Refuse a name that is not a loss."""
    if loss not in ("cross_entropy", "mse"):
        raise ValueError(
            f"Found loss={loss!r}; expected 'cross_entropy' or 'mse'. Pass 'cross_entropy' for "
            "classification, 'mse' for regression."
        )


def task_loss(loss: Loss, outputs: Tensor, targets: Tensor) -> Tensor:
    """Loss of `outputs [N, C]` for labels `[N]` (cross-entropy) or targets `[N, C]` (mse)."""
    if loss == "mse":
        # Without this, [N, 1] against [N] would broadcast to N x N pairs in silence.
        if outputs.shape != targets.shape or not targets.is_floating_point():
            raise ValueError(
                f"Found outputs of shape {list(outputs.shape)} and {targets.dtype} targets of "
                f"shape {list(targets.shape)}; expected float targets of the outputs' shape for "
                "loss='mse'. Reshape the targets, or use loss='cross_entropy' for labels."
            )
        return functional.mse_loss(outputs, targets)
    # class scores stand in dimension 1, or alone
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
    """Whether the numbers of each sample are at least 0 and sum to 1, up to rounding."""
    sums = targets.detach().double().sum(min(1, targets.ndim - 1))
    return bool((targets >= 0).all()) and bool(((sums - 1).abs() < 1e-2).all())
