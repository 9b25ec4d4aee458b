"""What a task function returns, read by the losses of its objective.

one loss            (outputs, targets)
losses by name      (outputs, targets, name), for tasks of several kinds in one objective
no loss             the loss itself, a scalar
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from towpath.losses.custom import has_loss_name, loss_of
from towpath.losses.loss import Loss


@dataclass(frozen=True, eq=False)
class Result:
    """The outputs and targets of a task with the loss between them."""

    outputs: Tensor
    targets: Tensor | None
    """None where the function computed the loss itself, which is then in `outputs`"""
    loss: Loss | None

    def value(self) -> Tensor:
        """Return the task's loss."""
        if self.loss is None or self.targets is None:
            return self.outputs
        return self.loss.value(self.outputs, self.targets)


class Losses(Protocol):
    """How the losses of an objective's tasks are found from what its function returns."""

    def read(self, result: object) -> Result:
        """Return the outputs, targets and loss; raise a ValueError for another kind of result."""
        ...


@dataclass(frozen=True)
class OneLoss:
    """All tasks have the same loss."""

    loss: Loss

    def read(self, result: object) -> Result:
        """Read a pair (outputs, targets)."""
        if not _tensors(result, 2):
            raise ValueError(
                f"The task function returned {_described(result)}; expected a pair of tensors "
                "(output, target). Return e.g. `return model_output, labels`; a function that "
                "returns the loss itself goes with loss=None."
            )
        assert isinstance(result, tuple)
        return Result(result[0], result[1], self.loss)


@dataclass(frozen=True)
class LossByName:
    """Tasks of several kinds: the function returns the name of a task's loss with its outputs."""

    losses: Mapping[str, Loss]
    """by name; a name that is a number stands here as a string"""

    def read(self, result: object) -> Result:
        """Read a triple (outputs, targets, name)."""
        if not _tensors(result, 3):
            raise ValueError(
                f"The task function returned {_described(result)}; expected (output, target, "
                f"name), with the name of the task's loss among {sorted(self.losses)}, because the "
                "objective has several losses."
            )
        assert isinstance(result, tuple)
        name = str(result[2])
        if name not in self.losses:
            raise ValueError(
                f"The task function returned the loss {result[2]!r}; expected one of "
                f"{sorted(self.losses)}, the names that loss={{...}} gives."
            )
        return Result(result[0], result[1], self.losses[name])


@dataclass(frozen=True)
class GivenLoss:
    """The function computes the loss itself, from whatever it likes."""

    def read(self, result: object) -> Result:
        """Read a scalar."""
        if not isinstance(result, Tensor) or result.numel() != 1:
            shape = f" of shape {list(result.shape)}" if isinstance(result, Tensor) else ""
            raise ValueError(
                f"The task function returned {_described(result)}{shape}; expected the loss of the "
                "task, a tensor with one number, because loss=None. Return e.g. loss.mean(), or "
                "name the loss and return (output, target)."
            )
        return Result(result.reshape(()), None, None)


def losses_of(given: object) -> Losses:
    """Return how losses are found, from what a user passed as `loss`.

    Args:
        given: whatever `loss_of` takes; a mapping from names of kinds of tasks to those; or None
            for a function that returns the loss itself.
    """
    if given is None:
        return GivenLoss()
    if isinstance(given, OneLoss | LossByName | GivenLoss):
        return given
    if isinstance(given, Mapping) and given and not has_loss_name(given):
        return LossByName({str(name): loss_of(one) for name, one in given.items()})
    return OneLoss(loss_of(given))


def _tensors(result: object, count: int) -> bool:
    """Return whether a result is a tuple of `count` parts whose first two are tensors."""
    return (
        isinstance(result, tuple)
        and len(result) == count
        and all(isinstance(part, Tensor) for part in result[:2])
    )


def _described(result: object) -> str:
    if isinstance(result, tuple):
        return f"({', '.join(type(part).__name__ for part in result)})"
    return type(result).__name__
