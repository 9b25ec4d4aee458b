"""Tensors of the CPU as the arrays that compiled loops take, and back; no numbers are copied."""

import numpy as np
import torch
from torch import Tensor

from towpath.backbones.fused.compiling import Array

LAST = torch.channels_last


def channels_last(x: Tensor) -> Array:
    """Return the memory of `[N, C, H, W]` in channels-last order as an array `[N, H, W, C]`."""
    array: Array = x.numpy(force=True).transpose(0, 2, 3, 1)
    return array


def numbers(x: Tensor) -> Array:
    """Return one number for each channel `[C]`."""
    array: Array = x.contiguous().numpy(force=True)
    return array


def room_for(x: Tensor, channels: int) -> Tensor:
    """Return an empty tensor for what a block gives for the images or activations x."""
    count, _, height, width = x.shape
    shape = (count, channels, height // 2, width // 2)
    return torch.empty(shape, dtype=x.dtype, memory_format=LAST)


def like(array: Array, tensor: Tensor) -> Tensor:
    """Return the numbers `[C]` as a tensor of the same dtype as another."""
    wanted = np.float32 if tensor.dtype == torch.float32 else np.float64
    return torch.from_numpy(array.astype(wanted, copy=False))
