"""`relu(max_pool(batch_norm(x)))` in one operation, with its first and second derivatives."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from towpath.backbones.fused import norm_loops
from towpath.backbones.fused.arrays import LAST, channels_last, like, numbers, room_for
from towpath.backbones.fused.compiling import Array
from towpath.backbones.fused.differentiation import again, by_loops, elsewhere


def norm_pool_relu(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Return `relu(max_pool(batch_norm(x)))` `[N, C, H//2, W//2]` for x `[N, C, H, W]`.

    Args:
        x: activations on the CPU; their own statistics normalise them.
        gamma: the norm's weight `[C]`.
        beta: the norm's bias `[C]`.
        eps: what the norm adds to a variance.
    """
    y: Tensor = _NormPoolRelu.apply(  # type: ignore[no-untyped-call]
        x.contiguous(memory_format=LAST), gamma, beta, eps
    )
    return y


def by_torch(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    """Return the same as `norm_pool_relu` by torch's own operations, in the order of ConvBlock."""
    normed = functional.batch_norm(x, None, None, gamma, beta, training=True, eps=eps)
    return functional.relu(functional.max_pool2d(normed, 2))


class _Found(NamedTuple):
    """What the pass forward found out about its inputs."""

    place: Array  # [N, H//2, W//2, C], where in its window each maximum is
    top: Array  # the same shape, the input there
    mean: Array  # [C]
    scale: Array  # [C], one over the standard deviation


class _NormPoolRelu(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
        y = room_for(x, x.shape[1])
        out = channels_last(y)
        place, top = np.empty(out.shape, np.uint8), np.empty_like(out)
        mean, scale = norm_loops.forward(
            channels_last(x), numbers(gamma), numbers(beta), eps, out, place, top
        )
        ctx.save_for_backward(x, gamma, beta)
        ctx.found, ctx.eps = _Found(place, top, mean, scale), eps
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        x, gamma, beta = ctx.saved_tensors
        firsts: tuple[Tensor, ...]
        if elsewhere(g):
            firsts = again(partial(by_torch, eps=ctx.eps), (x, gamma, beta), g)
        elif torch.is_grad_enabled():
            g = g.contiguous(memory_format=LAST)
            firsts = _FirstDerivatives.apply(  # type: ignore[no-untyped-call]
                g, x, gamma, beta, ctx.found, ctx.eps
            )
        else:
            dx, d_gamma, d_beta = _first_derivatives(g, x, gamma, ctx.found)
            firsts = dx, like(d_gamma, gamma), like(d_beta, beta)
        return *firsts, None


class _FirstDerivatives(Function):
    """The gradients of `g . y` in x, gamma and beta, as an operation of g, x and gamma."""

    @staticmethod
    def forward(
        ctx: Any, g: Tensor, x: Tensor, gamma: Tensor, beta: Tensor, found: _Found, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        dx, d_gamma, d_beta = _first_derivatives(g, x, gamma, found)
        ctx.save_for_backward(g, x, gamma, beta)
        ctx.found, ctx.eps = found, eps
        ctx.sums = d_gamma.copy(), d_beta.copy()  # the caller may change what is returned
        return dx, like(d_gamma, gamma), like(d_beta, beta)

    @staticmethod
    def backward(ctx: Any, *u: Tensor) -> tuple[Tensor | None, ...]:
        g, x, gamma, beta = ctx.saved_tensors
        seconds: tuple[Tensor, ...]
        if by_loops(*u):
            seconds = _second_derivatives(u, g, x, gamma, ctx.found, ctx.sums)
        else:
            seconds = _second_by_torch(u, (g, x, gamma, beta), ctx.eps)
        return *seconds, None, None, None


def _first_derivatives(
    g: Tensor, x: Tensor, gamma: Tensor, found: _Found
) -> tuple[Tensor, Array, Array]:
    """Return the gradients of `g . y` in x, gamma and beta."""
    dx, g = torch.empty_like(x), g.contiguous(memory_format=LAST)
    d_gamma, d_beta = norm_loops.backward(
        channels_last(g), channels_last(x), numbers(gamma), *found, channels_last(dx)
    )
    return dx, d_gamma, d_beta


def _second_derivatives(
    u: tuple[Tensor, ...],
    g: Tensor,
    x: Tensor,
    gamma: Tensor,
    found: _Found,
    sums: tuple[Array, Array],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of `u . first derivatives` in g, x and gamma."""
    u_x, u_gamma, u_beta = u
    dg, dx = torch.empty_like(g), torch.empty_like(x)
    d_gamma = norm_loops.backward_twice(
        channels_last(u_x.contiguous(memory_format=LAST)),
        numbers(u_gamma),
        numbers(u_beta),
        channels_last(g),
        channels_last(x),
        numbers(gamma),
        *found,
        *sums,
        channels_last(dg),
        channels_last(dx),
    )
    return dg, dx, like(d_gamma, gamma)


def _second_by_torch(
    u: tuple[Tensor, ...], inputs: tuple[Tensor, ...], eps: float
) -> tuple[Tensor, ...]:
    """Return the same, made by operations of torch, which can be differentiated further."""
    # nothing that follows depends on beta but the choice of pixels, which is constant nearly
    # everywhere
    *others, beta = inputs

    def firsts(g: Tensor, x: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
        arguments = (x, gamma, beta.detach().requires_grad_())
        y = by_torch(*arguments, eps=eps)
        return torch.autograd.grad(y, arguments, g, create_graph=True)

    several = [torch.zeros_like(part.sum()) for part in u if elsewhere(part)]
    if several:
        # vmap cannot add what stands for several to what does not, nor look at channels-last memory
        u = tuple(part + several[0] for part in u)
        others = [part.contiguous() for part in others]
    return again(firsts, others, u)
