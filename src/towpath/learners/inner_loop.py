"""The inner loop of the MAML family: a few gradient steps on the support loss of one task.

    fast_0 = params,  fast_{k+1} = fast_k - rate * d support_loss(fast_k) / d fast_k

for the parameters that have a rate; the others stay as they are. What flows back from the fast
weights to the meta-parameters:

- second order: everything. Each step's gradient is part of the graph, so the result may be
  differentiated any number of times.
- first order: each step's gradient counts as a constant, so `d fast_K / d params` is the identity
  (and the rates, if learned, still receive theirs). No graph of a support pass outlives its step.
- no gradient required (gradients are switched off, or no input requires one): nothing; memory does
  not grow with the number of steps.
"""

from collections.abc import Callable, Mapping
from typing import Annotated

import torch
from torch import Tensor

from towpath.validation import Range

Rates = Mapping[str, float | Tensor]
AdaptationSteps = Annotated[int, Range(0, 1000)]
"""Inner steps; papers take 1 to 10."""


def gradient_steps(
    support_loss: Callable[[dict[str, Tensor]], Tensor],
    params: Mapping[str, Tensor],
    rates: Rates,
    *,
    steps: int,
    first_order: bool,
) -> dict[str, Tensor]:
    """Return the fast weights after `steps` gradient steps, in the order of `params`.

    The module's docstring explains which gradients flow back to the meta-parameters. Gradients of
    the support loss are taken under `torch.no_grad()` and `torch.inference_mode()` as well.

    Args:
        support_loss: computes the loss of the support set for given weights.
        params: the weights before the first step.
        rates: the learning rate of each weight that adapts.
        steps: the number of steps.
        first_order: whether second derivatives are left out.
    """
    sources = [*params.values(), *(rate for rate in rates.values() if isinstance(rate, Tensor))]
    outer_graph = torch.is_grad_enabled() and any(source.requires_grad for source in sources)
    through_gradients = outer_graph and not first_order

    # Leaving inference mode also switches gradients on.
    with torch.inference_mode(False):
        if outer_graph:
            # Views are nodes of their own: a head that was computed from the body (Proto-MAML)
            # must not lead the body's inner gradient through itself.
            fast = {name: tensor.view_as(tensor) for name, tensor in params.items()}
        else:
            fast = {name: recordable(tensor).detach() for name, tensor in params.items()}
            rates = {name: _constant(rate) for name, rate in rates.items()}
        for _ in range(steps if rates else 0):  # frozen as a whole, nothing adapts
            at = {
                name: tensor
                if through_gradients and (tensor.requires_grad or name not in rates)
                else tensor.detach().requires_grad_(name in rates)
                for name, tensor in fast.items()
            }
            gradients = torch.autograd.grad(
                support_loss(at),
                [at[name] for name in rates],
                create_graph=through_gradients,
                allow_unused=True,
            )
            for (name, rate), gradient in zip(rates.items(), gradients, strict=True):
                if gradient is not None:
                    fast[name] = _descend(fast[name], rate, gradient)
    return fast


def recordable(tensor: Tensor) -> Tensor:
    """Return the tensor, or a copy if it is an inference tensor, which autograd refuses."""
    if not tensor.is_inference():
        return tensor
    with torch.inference_mode(False):
        return tensor.clone()


def _descend(value: Tensor, rate: float | Tensor, gradient: Tensor) -> Tensor:
    if isinstance(rate, Tensor):
        return torch.addcmul(value, rate, gradient, value=-1)
    return torch.sub(value, gradient, alpha=rate)


def _constant(rate: float | Tensor) -> float | Tensor:
    return recordable(rate).detach() if isinstance(rate, Tensor) else rate
