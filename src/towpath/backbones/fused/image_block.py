"""A whole first block for grey images in one operation: convolution, norm, max-pooling, ReLU."""

from functools import partial
from typing import Any

import numpy as np
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from towpath.backbones.fused import image_loops
from towpath.backbones.fused.arrays import LAST, channels_last, like, numbers, room_for
from towpath.backbones.fused.compiling import Array
from towpath.backbones.fused.differentiation import again, by_loops
from towpath.backbones.fused.norm_block import norm_pool_relu


def first_block(images: Tensor, w: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Return `relu(max_pool(batch_norm(conv2d(images, w, padding=1))))` for grey images.

    Args:
        images: `[N, 1, H, W]`, on the CPU, which need no gradient.
        w: kernels `[C, 1, 3, 3]`; C is a multiple of `choice.LANES`.
        gamma: the norm's weight `[C]`.
        beta: the norm's bias `[C]`.
        eps: what the norm adds to a variance.
    """
    y: Tensor = _FirstBlock.apply(images, w, gamma, beta, eps)  # type: ignore[no-untyped-call]
    return y


def by_torch(w: Tensor, gamma: Tensor, beta: Tensor, *, images: Tensor, eps: float) -> Tensor:
    """Return the same as `first_block` by torch's own convolution, to differentiate it further."""
    x = functional.conv2d(images, w, padding=1)
    return norm_pool_relu(x, gamma, beta, eps)


class _FirstBlock(Function):
    @staticmethod
    def forward(
        ctx: Any, images: Tensor, w: Tensor, gamma: Tensor, beta: Tensor, eps: float
    ) -> Tensor:
        y = room_for(images, len(w))
        out, padded = channels_last(y), _padded(images)
        place = np.empty(out.shape, np.uint8)
        ctx.statistics = image_loops.forward(
            padded, _taps(w), numbers(gamma), numbers(beta), eps, out, place
        )
        ctx.save_for_backward(images, w, gamma, beta)
        ctx.padded, ctx.place, ctx.eps = padded, place, eps
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        images, w, gamma, beta = ctx.saved_tensors
        firsts: tuple[Tensor, ...]
        if by_loops(g):
            g = g.contiguous(memory_format=LAST)
            d_taps, d_gamma, d_beta = image_loops.backward(
                channels_last(g), ctx.padded, ctx.place, _taps(w), numbers(gamma), ctx.statistics
            )
            d_w = np.ascontiguousarray(d_taps.T).reshape(w.shape)
            firsts = like(d_w, w), like(d_gamma, gamma), like(d_beta, beta)
        else:
            firsts = again(partial(by_torch, images=images, eps=ctx.eps), (w, gamma, beta), g)
        return None, *firsts, None


def _padded(images: Tensor) -> Array:
    """Return grey images `[N, 1, H, W]` as `[N, H + 2, W + 2]` with a border of zeros."""
    pixels: Array = images.numpy(force=True)[:, 0]
    count, height, width = pixels.shape
    padded = np.zeros((count, height + 2, width + 2), pixels.dtype)
    padded[:, 1:-1, 1:-1] = pixels
    return padded


def _taps(w: Tensor) -> Array:
    """Return kernels `[C, 1, 3, 3]` as `[9, C]` in float64."""
    kernels: Array = w.numpy(force=True).reshape(len(w), -1)
    return np.ascontiguousarray(kernels.T, dtype=np.float64)
