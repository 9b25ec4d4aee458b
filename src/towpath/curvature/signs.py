"""Random signs, with which a matrix is multiplied to estimate its diagonal."""

import torch
from torch import Tensor


def rademacher(shape: torch.Size, seed: int, like: Tensor) -> Tensor:
    """Return a tensor of random signs, the same for every task of one shape and seed."""
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, shape, generator=generator, dtype=torch.int8, device="cpu")
    return (2 * signs - 1).to(like)
