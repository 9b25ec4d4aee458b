"""Diagonal of a task's Gauss-Newton matrix from the graph that gave its gradient.

    G = (1/n) sum_j B_j' B_j,   B_j = R_j' df_j/dx,   h = diag G  [P]

for a mean over n samples with a factor R_j of each sample's own Hessian in the outputs; more
generally for any factor of the Hessian of the whole loss (`towpath.losses.Factor`).

`sketch` draws signs `e` and squares one backward pass with cotangent `R e`: its expectation is h,
and it is never negative. It passes the whole query set at once, so layers that mix samples
(train-mode batch norm) and inner loops of any order are handled. `exact` needs one backward pass
per (sample, output) pair: for tests and small problems.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from towpath.curvature.signs import rademacher
from towpath.losses import Factor

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


def sketch(factor: Factor, backward: Backward, *, probes: int, seed: int) -> Tensor:
    """Return an unbiased estimate of the diagonal h `[P]` from `probes` backward passes.

    Args:
        factor: a factor of the loss's Hessian in the outputs, with the outputs' graph.
        backward: runs a backward pass to the parameters.
        probes: the number of passes to average.
        seed: seed of the random signs; the same for every task.
    """
    rows = factor.rows  # [n, C], part of the graph
    total: Tensor | None = None
    for probe in range(probes):
        e = rademacher(rows.shape, seed + probe, rows.detach())
        square = backward(rows, factor.times(e)).square_()
        total = square if total is None else total.add_(square)
    assert total is not None
    return total.div_(probes * factor.count)


def exact(factor: Factor, backward: Backward) -> Tensor:
    """Return the diagonal h `[P]` itself, at one backward pass per (sample, output) pair."""
    rows = factor.rows
    n, C = rows.shape
    total: Tensor | None = None
    for j in range(n):
        for c in range(C):
            e = torch.zeros_like(rows.detach())
            e[j, c] = 1.0
            square = backward(rows, factor.times(e)).square_()
            total = square if total is None else total.add_(square)
    assert total is not None
    return total.div_(factor.count)
