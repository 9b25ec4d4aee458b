"""Deviations of task weights from their mean, and the similarity of two such deviations."""

import torch
from torch import Tensor


def centred(rows: Tensor, held: Tensor | None = None) -> Tensor:
    """Subtract the mean of each row: the rest changes the mix of tasks and not the step length.

    Entries that are `held` (bool, of the same shape) belong to tasks without effect; they are left
    out of the mean and become 0.
    """
    if held is None:
        return rows - rows.mean(dim=-1, keepdim=True)
    free = ~held.to(rows.device)
    mean = (rows * free).sum(-1, keepdim=True) / free.sum(-1, keepdim=True)
    return (rows - mean) * free


def cosine(a: Tensor, b: Tensor) -> float:
    """Return the cosine of the angle between two arrays as vectors; 0 if one of them is zero."""
    norm = float(torch.linalg.vector_norm(a)) * float(torch.linalg.vector_norm(b))
    return float((a * b).sum()) / norm if norm > 0 else 0.0
