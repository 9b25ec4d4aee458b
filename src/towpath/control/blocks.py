"""Products with a k x k block per coordinate, `A [k, k, P]`, k at most 3.

Written out over the blocks: each term is one pass over P, which is several times faster than a
batched matrix product of P tiny matrices.
"""

import torch
from torch import Tensor


def applied(A: Tensor, Y: Tensor) -> Tensor:
    """Return the block-wise product `A Y` for Y `[k, ..., P]`."""
    return torch.stack([_row([A[i, j] for j in range(len(A))], Y) for i in range(len(A))])


def applied_transposed(A: Tensor, Y: Tensor) -> Tensor:
    """Return the block-wise product `A' Y` for Y `[k, ..., P]`."""
    return torch.stack([_row([A[j, i] for j in range(len(A))], Y) for i in range(len(A))])


def congruent(A: Tensor, W: Tensor) -> Tensor:
    """Return `A' W A`, which again has one `k x k` block per coordinate."""
    # the first index of a block is the one that `applied` sums over; the second is carried along.
    # Column by column into one result: blocks are among the largest tensors of a plan.
    result = torch.empty_like(W)
    for j in range(len(A)):
        result[:, j] = applied_transposed(A, applied(W, A[:, j]))
    return result


def _row(coefficients: list[Tensor], Y: Tensor) -> Tensor:
    total = coefficients[0] * Y[0]
    for a, y in zip(coefficients[1:], Y[1:], strict=True):
        total = torch.addcmul(total, a, y)
    return total
