"""Deviations of task weights, or of what asks for them: what they mix, and how alike they are."""

import torch
from torch import Tensor


def centred(rows: Tensor, held: Tensor | None = None) -> Tensor:
    """Each row less its mean: what changes the mix of tasks rather than the step length.

    Entries that are `held` (bool, of the same shape) have no part in the mix and become 0.
    """
    if held is None:
        return rows - rows.mean(dim=-1, keepdim=True)
    free = ~held.to(rows.device)
    mean = (rows * free).sum(-1, keepdim=True) / free.sum(-1, keepdim=True)
    return (rows - mean) * free


def cosine(a: Tensor, b: Tensor) -> float:
    """Cosine of two arrays as vectors; 0 where one of them vanishes."""
    norm = float(torch.linalg.vector_norm(a)) * float(torch.linalg.vector_norm(b))
    return float((a * b).sum()) / norm if norm > 0 else 0.0
