"""What the fused operations share about derivatives: when loops serve, and what serves otherwise.

Loops give first derivatives, and the second one of the norm. Whatever lies deeper, and derivatives
of a whole batch at once (`is_grads_batched`), are computed again with torch's own operations.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

BATCHED = torch._C._dispatch_key_parse("Batched")


def by_loops(g: Tensor) -> bool:
    """Return whether loops may go on from a gradient: it is plain numbers."""
    return not torch.is_grad_enabled() and not batched(g)


def batched(g: Tensor) -> bool:
    """Return whether a gradient stands for several (torch.func, `is_grads_batched`)."""
    return torch._C._are_functorch_transforms_active() or torch._C._dispatch_keys(g).has(BATCHED)


def again(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], g: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradients of `g . function(*inputs)`, made by operations of torch.

    They can be differentiated in their turn where derivatives are recorded.

    Args:
        function: the operation, written with torch's own.
        inputs: the tensors that gradients are for.
        g: the gradient of whatever follows in the operation's output.
    """
    record = torch.is_grad_enabled()
    with torch.enable_grad():
        mine = [_apart(x) for x in inputs]
        return torch.autograd.grad(function(*mine), mine, g, create_graph=record)


def _apart(x: Tensor) -> Tensor:
    """Return the tensor under a name of its own, for the derivative in this use of it alone.

    The gradients that come in may depend on the same tensor, too.
    """
    return x.view_as(x) if x.requires_grad else x.detach().requires_grad_()
