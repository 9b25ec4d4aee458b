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
from towpath.backbones.fused.differentiation import again, batched, by_loops


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
    """Return the same as `norm_pool_relu` by torch's own operations."""
    normed = functional.batch_norm(x, None, None, gamma, beta, training=True, eps=eps)
    # ReLU never decreases, so it commutes with the maximum: pooling first gives the same
    # values and gradients with a quarter of the ReLU's work.
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
        if batched(g):
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
        ctx.found, ctx.sums, ctx.eps = found, (d_gamma, d_beta), eps
        return dx, like(d_gamma, gamma), like(d_beta, beta)

    @staticmethod
    def backward(ctx: Any, *u: Tensor) -> tuple[Tensor | None, ...]:
        g, x, gamma, beta = ctx.saved_tensors
        seconds: tuple[Tensor, ...]
        if by_loops(u[0]):
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

    def weighted_firsts(g: Tensor, x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        y = by_torch(x, gamma, beta, eps=eps)
        firsts = torch.autograd.grad(y, (x, gamma, beta), g, create_graph=True)
        return torch.stack([(a * b).sum() for a, b in zip(firsts, u, strict=True)]).sum()

    dg, dx, d_gamma, _ = again(weighted_firsts, inputs, torch.ones((), dtype=inputs[0].dtype))
    return dg, dx, d_gamma
