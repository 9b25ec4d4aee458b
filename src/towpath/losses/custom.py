"""From what a user passes as `loss` to a `Loss`: a name, a module, any callable, or nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

from towpath.losses.loss import Loss
from towpath.losses.named import (
    LOSSES,
    BinaryCrossEntropy,
    CrossEntropy,
    Huber,
    LossName,
    NegativeLogLikelihood,
    SquaredError,
)
from towpath.wording import nearest

LossLike = LossName | Loss | nn.Module | Callable[[Tensor, Tensor], Tensor] | Mapping[str, Any]
"""A name, `{"name": ..., options}`, an `nn.Module`, or a callable of (outputs, targets)."""


@dataclass(frozen=True, repr=False)
class CustomLoss(Loss):
    """A loss that is a function of the user's, (outputs, targets) -> scalar.

    Args:
        function: computes the loss; it must be differentiable in the outputs.
        name: the loss's name in messages.
        classifies: whether integer targets are classes with their scores in dimension 1 of the
            outputs, so that accuracies can be counted.
        regresses: whether the outputs should equal the targets, so that an R2 can be computed.
        ignore_index: label of samples that the function leaves out; None for no such label.
    """

    function: Callable[[Tensor, Tensor], Tensor]
    name: str = "loss"
    classifies: bool = False
    regresses: bool = False
    ignore_index: int | None = None

    def value(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return what the function computes; raise a ValueError unless it is a scalar."""
        found = self.function(outputs, targets)
        if not isinstance(found, Tensor) or found.numel() != 1:
            what = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(
                f"The loss {self.name} returned {what}; expected a tensor with one number. "
                "Return the mean over samples (a module of torch: reduction='mean')."
            )
        return found.reshape(())


def loss_of(given: object) -> Loss:
    """Return the loss that a user passed, or raise a ValueError that says what is possible.

    Example:
        >>> loss_of("mse"), loss_of({"name": "huber", "delta": 2.0}).delta
        (<loss mse>, 2.0)
        >>> loss_of(nn.CrossEntropyLoss(label_smoothing=0.1)).label_smoothing
        0.1
    """
    if isinstance(given, Loss):
        return given
    if isinstance(given, str) and given in LOSSES:
        return LOSSES[given]()
    if isinstance(given, Mapping) and has_loss_name(given):
        options = dict(given)
        return _with_options(str(options.pop("name")), options)
    if isinstance(given, nn.Module):
        return _of_module(given)
    if callable(given) and not isinstance(given, type):
        return CustomLoss(given, getattr(given, "__name__", type(given).__name__))
    raise ValueError(
        f"Found loss={given!r}; expected one of {', '.join(LOSSES)}, such a name with options "
        "({'name': 'cross_entropy', 'label_smoothing': 0.1}), an nn.Module such as "
        f"nn.CrossEntropyLoss(), or a function of (outputs, targets).{nearest(given, LOSSES)}"
    )


def has_loss_name(given: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is the name of a loss with its options."""
    name = given.get("name")
    return isinstance(name, str) and name in LOSSES


def class_loss(given: object) -> Loss:
    """Return a loss of class scores; raise a ValueError for one of numbers.

    A function of the user's counts as a loss of class scores.
    """
    loss = loss_of(given)
    if isinstance(loss, CustomLoss) and not loss.regresses:
        return replace(loss, classifies=True)
    if not loss.classifies:
        raise ValueError(
            f"Found loss={loss.name!r}, whose targets are numbers; expected a loss of labels for "
            "tasks of classes: 'cross_entropy', 'nll', or a function of (scores, labels)."
        )
    return loss


def number_loss(given: object) -> Loss:
    """Return a loss of numbers; raise a ValueError for one of class scores or of logits.

    A function of the user's counts as a loss of numbers.
    """
    loss = loss_of(given)
    if isinstance(loss, CustomLoss) and not loss.classifies:
        return replace(loss, regresses=True)
    if not loss.regresses:
        raise ValueError(
            f"Found loss={loss.name!r}, whose targets are not real numbers; expected a loss of "
            "numbers for tasks of regression: 'mse', 'huber', or a function of (numbers, targets)."
        )
    return loss


def _with_options(name: str, options: dict[str, Any]) -> Loss:
    known = list(LOSSES[name].__dataclass_fields__)  # type: ignore[attr-defined]
    if not set(options) <= set(known):
        raise ValueError(
            f"Found the options {list(options)} of loss={name!r}; expected some of {known}."
        )
    try:
        return LOSSES[name](**options)
    except TypeError:
        raise ValueError(
            f"Found the options {options} of loss={name!r}; expected numbers, and a list of "
            "numbers as weight or pos_weight. Write numbers without quotes."
        ) from None


def _of_module(module: nn.Module) -> Loss:
    """Return the named loss that a module of torch's is, or the module itself as a loss."""
    make = _NAMED.get(type(module))  # a subclass may compute something else
    named = make(module) if make and getattr(module, "reduction", None) == "mean" else None
    if named is not None:
        return named
    classes = isinstance(module, nn.CrossEntropyLoss | nn.NLLLoss | nn.MultiMarginLoss)
    ignored = getattr(module, "ignore_index", None) if classes else None
    return CustomLoss(module, type(module).__name__, classifies=classes, ignore_index=ignored)


def _binary(module: Any) -> Loss | None:
    """Return the named loss, None for weights of single samples or of more than one dimension."""
    weight = module.pos_weight
    if module.weight is not None or (weight is not None and weight.ndim != 1):
        return None
    return BinaryCrossEntropy(_numbers(weight))


_NAMED: dict[type[nn.Module], Callable[[Any], Loss | None]] = {
    nn.MSELoss: lambda _: SquaredError(),
    nn.HuberLoss: lambda module: Huber(module.delta),
    nn.CrossEntropyLoss: lambda module: CrossEntropy(
        _numbers(module.weight), module.label_smoothing, module.ignore_index
    ),
    nn.NLLLoss: lambda module: NegativeLogLikelihood(_numbers(module.weight), module.ignore_index),
    nn.BCEWithLogitsLoss: _binary,
}
"""modules of torch that are named losses, if they take the mean; None for other options"""


def _numbers(weight: Tensor | None) -> tuple[float, ...] | None:
    return None if weight is None else tuple(weight.tolist())
