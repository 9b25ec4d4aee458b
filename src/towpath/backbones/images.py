"""What every convolutional backbone asks of its images `[N, C, H, W]`, and their memory layout."""

import torch
from torch import Tensor


def image_shape(image_size: int | tuple[int, int], smallest: int, reason: str) -> tuple[int, int]:
    """(H, W) of `image_size`; an image below `smallest` would vanish inside the network."""
    height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
    if min(height, width) < smallest:
        raise ValueError(
            f"Found image_size={height}x{width}; expected at least {smallest}x{smallest}, because "
            f"{reason}. Resize the images or choose another backbone."
        )
    return height, width


def check_images(x: Tensor, channels: int, height: int, width: int) -> None:
    """Refuse a batch that the network was not built for, before a layer fails on it obscurely."""
    if x.shape[1:] != (channels, height, width):
        raise ValueError(
            f"Found inputs of shape {list(x.shape)}; expected [N, {channels}, {height}, {width}]. "
            "Build the backbone with the channels and image_size of the data."
        )


def channels_last(x: Tensor) -> Tensor:
    """The same images with channels innermost in memory, which the CPU kernels want.

    Convolution, batch norm and pooling keep this layout from layer to layer; the four blocks of a
    Conv4, forward and backward, take about two thirds of the time (28x28 and 84x84, one thread).
    """
    if x.device.type != "cpu":
        return x
    if x.shape[1] == 1:
        # One channel fits both layouts, so `contiguous` would keep strides that the convolution
        # reads as channels first; these say channels last for the same bytes.
        _, _, height, width = x.shape
        return x.contiguous().as_strided(x.shape, (height * width, 1, width, 1))
    return x.contiguous(memory_format=torch.channels_last)
