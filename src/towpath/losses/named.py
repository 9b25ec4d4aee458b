"""The losses that have a name, each as defined by `torch.nn.functional`, mean over everything.

Factors of the Hessian in the outputs of one sample:

    cross_entropy  R = diag(sqrt p) - p sqrt(p)',  p = softmax(f); without class weights
    mse            R = sqrt(2 / C) I,              C numbers a sample
    nll            as cross_entropy: see `NegativeLogLikelihood`
    huber, bce     by autograd; their Hessians are diagonal
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import torch
from torch import Tensor
from torch.nn import functional

from towpath.losses.label_range import known_range
from towpath.losses.loss import Factor, Loss
from towpath.validation import Range

LossName = Literal["bce", "cross_entropy", "huber", "mse", "nll"]


@dataclass(frozen=True, repr=False)
class CrossEntropy(Loss):
    """Cross-entropy of class scores, for integer labels or class probabilities.

    Args:
        weight: one number for each class, by which the loss of its samples is multiplied.
        label_smoothing: share of the target that is spread over all classes.
        ignore_index: label of samples that do not count; None for no such label.
    """

    weight: Sequence[float] | None = None
    label_smoothing: Annotated[float, Range(0, 1)] = 0.0
    ignore_index: int | None = None

    name = "cross_entropy"
    classifies = True

    def __post_init__(self) -> None:
        """Refuse a share of smoothing that is none, and weights that are no numbers above 0."""
        if not 0 <= self.label_smoothing <= 1:
            raise ValueError(
                f"Found label_smoothing={self.label_smoothing}; expected a number from 0 to 1."
            )
        _check_weight(self.weight)
        _check_ignored(self.ignore_index)

    def value(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy of `outputs [N, C, ...]`."""
        classes = _classes_of(outputs)
        if classes < 2:
            # a softmax over one score is 1: the loss would be 0 whatever the network does
            raise ValueError(
                f"Found outputs of shape {list(outputs.shape)}, one score a sample; expected a "
                "score for each of at least 2 classes for loss='cross_entropy'. Use loss='mse' for "
                "regression, or give the network two outputs for two classes."
            )
        if targets.is_floating_point():
            # class probabilities, as torch.nn.functional.cross_entropy takes them
            if targets.shape != outputs.shape or not _are_probabilities(targets):
                raise ValueError(
                    f"Found {targets.dtype} targets of shape {list(targets.shape)}; expected "
                    "integer labels for loss='cross_entropy', or class probabilities of the "
                    "outputs' shape (at least 0, with the sum 1 over the classes). Use loss='mse' "
                    "for regression tasks."
                )
            return self._torch(outputs, targets)
        return _of_labels(self._torch, outputs, targets, self.ignore_index)

    def _torch(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(
            outputs,
            targets,
            _class_weights(self.weight, outputs),
            ignore_index=-100 if self.ignore_index is None else self.ignore_index,
            label_smoothing=self.label_smoothing,
        )

    def factor(self, outputs: Tensor, targets: Tensor) -> Factor | None:
        """Return the closed form, which smoothed labels leave as it is; None for weights."""
        if self.weight is not None or _any_ignored(targets, self.ignore_index):
            return None
        return _softmax_factor(self.rows(outputs))

    def natural(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return the log-probabilities with targets that are class probabilities."""
        if not targets.is_floating_point():
            return None
        return self.rows(outputs).log_softmax(-1), self.rows(targets)

    def predictions(self, outputs: Tensor, dim: int = -1) -> Tensor:
        """Return the probabilities of the classes, whose scores are in dimension `dim`."""
        return outputs.softmax(dim)


@dataclass(frozen=True, repr=False)
class NegativeLogLikelihood(Loss):
    """Negative log-likelihood of the labels under outputs that are log-probabilities.

    It is linear in the log-probabilities, so its own Hessian there is zero. For outputs that are
    log-probabilities it equals the cross-entropy of the same numbers (a log-softmax of them changes
    nothing), whose Gauss-Newton matrix is that of the scores before the network's log-softmax.

    Args:
        weight: one number for each class, by which the loss of its samples is multiplied.
        ignore_index: label of samples that do not count; None for no such label.
    """

    weight: Sequence[float] | None = None
    ignore_index: int | None = None

    name = "nll"
    classifies = True

    def __post_init__(self) -> None:
        """Refuse weights that are no numbers above 0."""
        _check_weight(self.weight)
        _check_ignored(self.ignore_index)

    def value(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean negative log-likelihood of `outputs [N, C, ...]` for labels."""
        sums = outputs.detach().double().logsumexp(min(1, outputs.ndim - 1) if outputs.ndim else 0)
        if bool((sums.abs() > 1e-2).any()):
            raise ValueError(
                "Found outputs that are no log-probabilities (their exponentials do not sum to 1 "
                "over the classes); expected those for loss='nll'. End the network with "
                "log_softmax, or use loss='cross_entropy' with the scores."
            )
        if targets.is_floating_point():
            raise ValueError(
                f"Found {targets.dtype} targets; expected integer labels for loss='nll'. Use "
                "loss='cross_entropy' for class probabilities, loss='mse' for regression."
            )
        ignored = -100 if self.ignore_index is None else self.ignore_index
        weight = _class_weights(self.weight, outputs)
        torch_loss = partial(functional.nll_loss, weight=weight, ignore_index=ignored)
        return _of_labels(torch_loss, outputs, targets, self.ignore_index)

    def curved(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy of the log-probabilities, which equals the loss."""
        return CrossEntropy(self.weight, ignore_index=self.ignore_index).value(outputs, targets)

    def factor(self, outputs: Tensor, targets: Tensor) -> Factor | None:
        """Return the closed form of the cross-entropy; None for class weights."""
        return CrossEntropy(self.weight, ignore_index=self.ignore_index).factor(outputs, targets)

    def predictions(self, outputs: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG002
        """Return the probabilities of the classes."""
        return outputs.exp()


@dataclass(frozen=True, repr=False)
class SquaredError(Loss):
    """Mean squared error of the outputs for float targets of the same shape."""

    name = "mse"
    regresses = True

    def value(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean squared error."""
        _check_numbers(outputs, targets, self.name, "Reshape the targets, or use "
                       "loss='cross_entropy' for labels.")  # fmt: skip
        return functional.mse_loss(outputs, targets)

    def factor(self, outputs: Tensor, targets: Tensor) -> Factor | None:  # noqa: ARG002
        """Return the closed form, a multiple of the identity."""
        rows = self.rows(outputs)
        scale = math.sqrt(2.0 / rows.shape[-1])
        return Factor(rows, lambda e: scale * e, len(rows))


@dataclass(frozen=True, repr=False)
class Huber(Loss):
    """Huber's loss: squared for errors up to `delta`, linear beyond, so outliers count less.

    Args:
        delta: the error from which on the loss is linear.
    """

    delta: float = 1.0

    name = "huber"
    regresses = True

    def __post_init__(self) -> None:
        """Refuse a limit that is not a finite number above 0."""
        if not 0 < self.delta < math.inf:
            raise ValueError(f"Found delta={self.delta}; expected a finite number above 0.")

    def value(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean of Huber's loss of the errors."""
        _check_numbers(outputs, targets, self.name, "Reshape the targets.")
        return functional.huber_loss(outputs, targets, delta=self.delta)


@dataclass(frozen=True, repr=False)
class BinaryCrossEntropy(Loss):
    """Binary cross-entropy of logits, each a yes-or-no question of its own (with logits, as torch).

    Args:
        pos_weight: one number for each output, by which the loss of its positive samples counts.
    """

    pos_weight: Sequence[float] | None = None

    name = "bce"

    def __post_init__(self) -> None:
        """Refuse weights that are no numbers above 0."""
        _check_weight(self.pos_weight)

    def value(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean binary cross-entropy of the logits for targets from 0 to 1."""
        _check_numbers(outputs, targets, self.name, "Write labels as numbers 0. and 1. in the "
                       "outputs' shape, e.g. labels.float()[:, None], or use "
                       "loss='cross_entropy' for classes that exclude each other.")  # fmt: skip
        if bool(((targets < 0) | (targets > 1)).any()):
            raise ValueError(
                f"Found targets from {float(targets.min()):g} to {float(targets.max()):g}; "
                "expected probabilities from 0 to 1 for loss='bce'. Use loss='mse' for regression."
            )
        return functional.binary_cross_entropy_with_logits(
            outputs, targets, pos_weight=self._weights(outputs)
        )

    def _weights(self, outputs: Tensor) -> Tensor | None:
        last = outputs.shape[-1] if outputs.ndim else 1
        if self.pos_weight is not None and len(self.pos_weight) not in (1, last):
            raise ValueError(
                f"Found {len(self.pos_weight)} numbers as pos_weight of loss='bce'; expected one "
                f"for each of the {last} outputs, or a single one for all."
            )
        return _tensor(self.pos_weight, outputs)

    def natural(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return the logits: `y log p + (1 - y) log(1 - p) = y f + log(1 - p)`."""
        return self.rows(outputs), targets

    def predictions(self, outputs: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG002
        """Return the probability of a yes for each output."""
        return outputs.sigmoid()


LOSSES: dict[str, Callable[..., Loss]] = {
    "bce": BinaryCrossEntropy,
    "cross_entropy": CrossEntropy,
    "huber": Huber,
    "mse": SquaredError,
    "nll": NegativeLogLikelihood,
}
"""The losses by the name that a recipe and `Objective.from_function` give them."""


def _softmax_factor(rows: Tensor) -> Factor:
    """Return the factor of the mean cross-entropy of scores `[n, C]`."""
    p = rows.detach().softmax(-1)
    root = p.sqrt()

    def times(e: Tensor) -> Tensor:
        """Return R e, row by row."""
        return root * e - p * (root * e).sum(-1, keepdim=True)

    return Factor(rows, times, len(rows))


def _of_labels(
    torch_loss: Callable[[Tensor, Tensor], Tensor],
    outputs: Tensor,
    labels: Tensor,
    ignored: int | None,
) -> Tensor:
    """Return a loss of labels; raise a ValueError for labels that the outputs do not have.

    Args:
        torch_loss: the loss of outputs and labels.
        outputs: the class scores, `[N, C, ...]`.
        labels: the labels.
        ignored: label of samples that do not count; None for no such label.
    """
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(
            f"Found {labels.dtype} labels; expected torch.int64. Convert them: labels.long()."
        )
    _check_label_shape(outputs, labels)
    classes, known = _classes_of(outputs), known_range(labels)
    negative = known is None or known.least < 0
    if negative and bool((labels if ignored is None else labels[labels != ignored]).lt(0).any()):
        raise ValueError(
            f"Found the label {int(labels.min())}; expected labels 0..{classes - 1}. "
            "Leave out samples without a label, or name their label: "
            "nn.CrossEntropyLoss(ignore_index=...)."
        )
    if known is not None and known.most >= classes and known.most != ignored:
        # an accelerator would not raise an error that can be caught
        raise _too_many_classes(labels, classes)
    try:
        return torch_loss(outputs, labels)
    except IndexError as error:
        raise _too_many_classes(labels, classes) from error


def _too_many_classes(labels: Tensor, classes: int) -> ValueError:
    return ValueError(
        f"Found labels {int(labels.min())}..{int(labels.max())} with {classes} outputs; "
        f"expected labels 0..{classes - 1}. Build the model with the ways of the tasks, or "
        "relabel the task's classes from 0."
    )


def _check_label_shape(outputs: Tensor, labels: Tensor) -> None:
    """Raise a ValueError unless there is one label for each vector of class scores."""
    expected = [*outputs.shape[:1], *outputs.shape[2:]] if outputs.ndim > 1 else []
    found = list(labels.shape)
    if found == expected:
        return
    remedy = "Pass one label for each sample."
    if labels.shape == outputs.shape:
        remedy = "Turn one-hot labels into numbers: labels.argmax(1)."
    elif labels.numel() == math.prod(expected):
        remedy = f"Reshape them: labels.reshape({expected})."
    raise ValueError(
        f"Found labels of shape {found} with outputs of shape {list(outputs.shape)}; expected "
        f"labels of shape {expected}. {remedy}"
    )


def _any_ignored(targets: Tensor, ignored: int | None) -> bool:
    if ignored is None or targets.is_floating_point():
        return False
    known = known_range(targets)
    if known is not None and not known.may_have(ignored):
        return False
    return bool((targets == ignored).any())


def _classes_of(outputs: Tensor) -> int:
    """Return the number of classes: scores are in dimension 1, or in the only dimension."""
    return outputs.shape[min(1, outputs.ndim - 1)] if outputs.ndim else 1


def _are_probabilities(targets: Tensor) -> bool:
    """Return whether the numbers of each sample are at least 0 and sum to 1, up to rounding."""
    sums = targets.detach().double().sum(min(1, targets.ndim - 1))
    return bool((targets >= 0).all()) and bool(((sums - 1).abs() < 1e-2).all())


def _check_numbers(outputs: Tensor, targets: Tensor, name: str, remedy: str) -> None:
    """Raise a ValueError unless the targets are floats of the outputs' shape."""
    # Without this, [N, 1] against [N] would broadcast to N x N pairs in silence.
    if outputs.shape != targets.shape or not targets.is_floating_point():
        raise ValueError(
            f"Found outputs of shape {list(outputs.shape)} and {targets.dtype} targets of "
            f"shape {list(targets.shape)}; expected float targets of the outputs' shape for "
            f"loss={name!r}. {remedy}"
        )


def _class_weights(given: Sequence[float] | None, outputs: Tensor) -> Tensor | None:
    """Return the weights of the classes; raise a ValueError unless there is one for each."""
    if given is not None and len(given) != _classes_of(outputs):
        raise ValueError(
            f"Found {len(given)} numbers as weight of the classes; expected one for each of the "
            f"{_classes_of(outputs)} classes that the outputs have."
        )
    return _tensor(given, outputs)


def _tensor(given: Sequence[float] | None, outputs: Tensor) -> Tensor | None:
    return None if given is None else outputs.detach().new_tensor(list(given))


def _check_weight(given: Sequence[float] | None) -> None:
    if given is not None and not all(0 <= number < math.inf for number in given):
        raise ValueError(f"Found weights {list(given)}; expected finite numbers, at least 0.")


def _check_ignored(given: int | None) -> None:
    if given is not None and not isinstance(given, int):
        raise ValueError(f"Found ignore_index={given!r}; expected a whole number, or None.")
