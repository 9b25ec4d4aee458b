"""Diagonal of a task's Gauss-Newton matrix from the graph that gave its gradient.

    G = (1/n) sum_j B_j' B_j,   B_j = R_j' df_j/dx,   h = diag G  [P]

`sketch` draws signs `e` and squares one backward pass with cotangent `R e`: its expectation is h,
and it is never negative. It passes the whole query set at once, so layers that mix samples
(train-mode batch norm) and inner loops of any order are handled. `exact` needs one backward pass
per (sample, output) pair: for tests and small problems.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from towpath.curvature.signs import rademacher
from towpath.losses import Loss

Backward = Callable[[Tensor, Tensor], Tensor]
"""(outputs, cotangent) -> vector-Jacobian product `[P]`; the graph stays alive."""


def backward_to(leaves: Sequence[Tensor]) -> Backward:
    """Return a function that runs backward passes to the leaves, with zeros for unused ones."""

    def backward(outputs: Tensor, cotangent: Tensor) -> Tensor:
        """Return the vector-Jacobian product of the outputs with the cotangent, `[P]`."""
        pieces = torch.autograd.grad(
            outputs, leaves, cotangent, retain_graph=True, allow_unused=True
        )
        return torch.cat(
            [
                (torch.zeros_like(leaf) if piece is None else piece).reshape(-1)
                for piece, leaf in zip(pieces, leaves, strict=True)
            ]
        )

    return backward


def sketch(outputs: Tensor, loss: Loss, backward: Backward, *, probes: int, seed: int) -> Tensor:
    """Return an unbiased estimate of the diagonal h `[P]` from `probes` backward passes.

    Args:
        outputs: the task's outputs, with their graph.
        loss: the loss function of these outputs.
        backward: runs a backward pass to the parameters.
        probes: the number of passes to average.
        seed: seed of the random signs; the same for every task.
    """
    rows = loss.rows(outputs)  # [n, C], part of the graph
    values = rows.detach()
    total: Tensor | None = None
    for probe in range(probes):
        e = rademacher(rows.shape, seed + probe, values)
        square = backward(rows, loss.factor(values, e)).square_()
        total = square if total is None else total.add_(square)
    assert total is not None
    return total.div_(probes * len(rows))


def exact(outputs: Tensor, loss: Loss, backward: Backward) -> Tensor:
    """Return the diagonal h `[P]` itself, at one backward pass per (sample, output) pair."""
    rows = loss.rows(outputs)
    values = rows.detach()
    n, C = rows.shape
    total: Tensor | None = None
    for j in range(n):
        for c in range(C):
            e = torch.zeros_like(values)
            e[j, c] = 1.0
            square = backward(rows, loss.factor(values, e)).square_()
            total = square if total is None else total.add_(square)
    assert total is not None
    return total.div_(n)
