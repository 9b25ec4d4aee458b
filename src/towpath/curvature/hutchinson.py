"""Diagonal of a task's Hessian by Hutchinson's estimator: E[e * (H e)] over random signs e.

Unlike Gauss-Newton it may be negative and needs a graph of the gradient. The planner keeps its
sign in the dynamics and clamps it at zero in the cost.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from towpath.curvature.signs import rademacher

Product = Callable[[Tensor], Tensor]
"""vector `[P]` -> Hessian times vector `[P]`."""


def hutchinson(product: Product, like: Tensor, *, probes: int, seed: int) -> Tensor:
    """Return an estimate of the Hessian's diagonal `[P]` from `probes` Hessian-vector products.

    Args:
        product: computes a Hessian-vector product.
        like: a vector of the parameters' size, dtype and device.
        probes: the number of products to average.
        seed: seed of the random signs; the same for every task.
    """
    total = torch.zeros_like(like)
    for probe in range(probes):
        e = rademacher(like.shape, seed + probe, like)
        total.addcmul_(e, product(e))
    return total.div_(probes)
