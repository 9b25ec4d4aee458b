"""The two losses, as `torch.nn.functional` means them, with the factor of their Hessian.

For outputs `f [n, C]` the loss is a mean over samples j of `loss_j(f_j)`. `R_j [C, C]` is a
factor of the loss Hessian in the outputs, `R_j R_j' = d2 loss_j / df_j2`:

    cross-entropy   R = diag(sqrt p) - p sqrt(p)',   p = softmax(f)
    squared error   R = sqrt(2 / C) I
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from towpath.learners import task_loss


@dataclass(frozen=True)
class Loss:
    """A loss and the product of its Hessian factor with a vector."""

    name: str
    value: Callable[[Tensor, Tensor], Tensor]
    """(outputs, targets) -> scalar, mean over everything."""
    factor: Callable[[Tensor, Tensor], Tensor]
    """(outputs [n, C], e [n, C]) -> R e, row by row."""

    def rows(self, outputs: Tensor) -> Tensor:
        """Outputs with one sample a row `[n, C]`: class scores stand in dimension 1."""
        if self.name == "cross_entropy":
            if outputs.ndim == 1:
                outputs = outputs[None]
            return outputs.movedim(1, -1).reshape(-1, outputs.shape[1])
        return outputs.reshape(outputs.shape[0], -1) if outputs.ndim else outputs.reshape(1, 1)


def _cross_entropy_factor(outputs: Tensor, e: Tensor) -> Tensor:
    p = outputs.softmax(-1)
    root = p.sqrt()
    return root * e - p * (root * e).sum(-1, keepdim=True)


def _mse_factor(outputs: Tensor, e: Tensor) -> Tensor:
    return math.sqrt(2.0 / outputs.shape[-1]) * e


LOSSES: dict[str, Loss] = {
    "cross_entropy": Loss(
        "cross_entropy", partial(task_loss, "cross_entropy"), _cross_entropy_factor
    ),
    "mse": Loss("mse", partial(task_loss, "mse"), _mse_factor),
}


def loss_named(name: str) -> Loss:
    """The loss of that name, or a ValueError that lists the names."""
    if not isinstance(name, str) or name not in LOSSES:
        raise ValueError(
            f"Unknown loss {name!r}; expected one of {sorted(LOSSES)}. "
            "Both mean what torch.nn.functional means by them."
        )
    return LOSSES[name]


def rademacher(shape: torch.Size, seed: int, like: Tensor) -> Tensor:
    """Random signs, the same for every task of one shape and seed."""
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, shape, generator=generator, dtype=torch.int8, device="cpu")
    return (2 * signs - 1).to(like)
