"""What the fused operations share about derivatives: when loops serve, and what serves otherwise.

Loops give first derivatives, and the second one of the norm. Whatever lies deeper, derivatives of a
whole batch at once (`is_grads_batched`) and forward ones are computed again with torch's own
operations.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.autograd import forward_ad

BATCHED = torch._C._dispatch_key_parse("Batched")


def by_loops(*gradients: Tensor) -> bool:
    """Return whether loops may go on from gradients: all are plain numbers, nobody records."""
    return not torch.is_grad_enabled() and not any(map(elsewhere, gradients))


def elsewhere(g: Tensor) -> bool:
    """Return whether a gradient has more in it than numbers.

    It may stand for several (torch.func, `is_grads_batched`) or have a derivative of its own.
    """
    return (
        torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
        or torch._C._dispatch_keys(g).has(BATCHED)
    )


def again(
    function: Callable[..., Tensor | tuple[Tensor, ...]],
    inputs: Sequence[Tensor],
    g: Tensor | tuple[Tensor, ...],
) -> tuple[Tensor, ...]:
    """Return the gradients of `g . function(*inputs)`, made by operations of torch.

    They can be differentiated in their turn where derivatives are recorded.

    Args:
        function: the operation, written with torch's own.
        inputs: the tensors that gradients are for.
        g: the gradient of whatever follows in the operation's output, or in each of its outputs.
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
