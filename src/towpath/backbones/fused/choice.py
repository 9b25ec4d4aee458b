"""Where a block's fused operations may stand in for torch's own.

They give the same numbers up to rounding. Wherever they might not serve (another device or dtype,
running statistics, hooks on a layer or on all, a layer or a `forward` that was replaced, autocast,
`torch.compile`, `torch.func`, forward derivatives, tracing, modes that watch operations), the block
runs its layers one after another.
"""

from typing import TypeGuard

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.modules import module

LANES = 16
"""filters of a fused first block come in multiples of this: its loops take so many at a time"""
DTYPES = (torch.float32, torch.float64)


def fuses_norm(norm: nn.Module, x: Tensor) -> TypeGuard[nn.BatchNorm2d]:
    """Return whether `norm_pool_relu` gives what the norm, pooling and ReLU of x give.

    Args:
        norm: the block's normalisation layer.
        x: what the block's convolution gives, or for a whole block its images.
    """
    return (
        type(norm) is nn.BatchNorm2d
        and norm.running_mean is None  # the statistics of the batch
        and norm.affine
        and norm.bias is not None
        and not _is_watched(norm)
        and x.dim() == 4
        and len(x) > 0
        and min(x.shape[2:]) > 1
        and _plain(x)
        and norm.weight.dtype == norm.bias.dtype == x.dtype
    )


def fuses_all(norm: nn.Module, conv: nn.Module, images: Tensor) -> TypeGuard[nn.BatchNorm2d]:
    """Return whether `first_block` gives what a whole block gives: grey images, a 3x3 kernel.

    Args:
        norm: the block's normalisation layer.
        conv: its convolution.
        images: what the block is given.
    """
    return (
        images.dim() == 4
        and images.shape[1] == 1
        and not images.requires_grad
        and type(conv) is nn.Conv2d
        and conv.in_channels == 1
        and conv.out_channels % LANES == 0
        and conv.kernel_size == (3, 3)
        and conv.stride == conv.padding == conv.dilation == (1, 1)
        and conv.padding_mode == "zeros"
        and conv.bias is None
        and conv.weight.dtype == images.dtype
        and not _is_watched(conv)
        and fuses_norm(norm, images)
    )


def _is_watched(layer: nn.Module) -> bool:
    """Return whether somebody wants to see a layer's call, or has put another one in its place."""
    return bool(
        layer._forward_hooks
        or layer._forward_pre_hooks
        or layer._backward_hooks
        or layer._backward_pre_hooks
        or "forward" in vars(layer)
        or module._global_forward_hooks
        or module._global_forward_pre_hooks
        or module._global_backward_hooks
        or module._global_backward_pre_hooks
    )


def _plain(x: Tensor) -> bool:
    """Return whether x is numbers in the memory of the CPU that nothing else looks at."""
    return (
        type(x) is Tensor
        and x.device.type == "cpu"
        and x.dtype in DTYPES
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and not torch._C._is_tracing()
        and torch._C._len_torch_dispatch_stack() == 0
        and not torch._C._are_functorch_transforms_active()
        and forward_ad._current_level < 0
    )
