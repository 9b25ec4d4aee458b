"""Checks and memory layout of the images `[N, C, H, W]` that convolutional backbones take."""

import torch
from torch import Tensor


def image_shape(image_size: int | tuple[int, int], smallest: int, reason: str) -> tuple[int, int]:
    """Return `image_size` as (H, W); a size below `smallest` is a ValueError.

    Args:
        image_size: height and width, or one number for both.
        smallest: the least height and width that the network can reduce to a feature.
        reason: why it cannot be smaller, for the message.
    """
    height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
    if min(height, width) < smallest:
        raise ValueError(
            f"Found image_size={height}x{width}; expected at least {smallest}x{smallest}, because "
            f"{reason}. Resize the images or choose another backbone."
        )
    return height, width


def check_images(x: Tensor, channels: int, height: int, width: int) -> None:
    """Raise a ValueError for images of another shape than the network was built for.

    A layer inside the network would fail too, but with a message that does not tell why.

    Args:
        x: the images `[N, C, H, W]` that were passed.
        channels: the expected C.
        height: the expected H.
        width: the expected W.
    """
    if x.shape[1:] != (channels, height, width):
        raise ValueError(
            f"Found inputs of shape {list(x.shape)}; expected [N, {channels}, {height}, {width}]. "
            "Build the backbone with the channels and image_size of the data."
        )


def channels_last(x: Tensor) -> Tensor:
    """Return the same images with channels innermost in memory, which is faster on a CPU.

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
