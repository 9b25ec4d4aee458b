"""The usual four-block network of few-shot learning (Vinyals et al. 2016, Finn et al. 2017).

A block is a 3x3 convolution, normalisation, ReLU, 2x2 max-pooling; four of them, flattened, then a
linear head. `[N, C, H, W] -> [N, ways]`, or the flattened features `[N, D]` when `ways=None`.
"""

from typing import Annotated

from torch import Tensor, nn
from torch.nn import functional

from towpath.backbones import fused
from towpath.backbones.images import channels_last, check_images, image_shape
from towpath.backbones.norms import NORM_POLICIES, Norm, check_norm, norm_layer
from towpath.validation import Range, at_least

BLOCKS = 4


class ConvBlock(nn.Module):
    """Convolution, normalisation, ReLU, max-pooling: `[N, C, H, W] -> [N, F, H//2, W//2]`."""

    def __init__(self, channels: int, filters: int, norm: Norm) -> None:
        super().__init__()
        # A bias before a normalisation is subtracted again (batch) or nearly so (group).
        self.conv = nn.Conv2d(channels, filters, 3, padding=1, bias=norm == "none")
        self.norm = norm_layer(norm, filters)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features `[N, F, H//2, W//2]` of images or features `[N, C, H, W]`."""
        norm = self.norm
        if fused.fuses_all(norm, self.conv, x):
            return fused.first_block(x, self.conv.weight, norm.weight, norm.bias, norm.eps)
        y: Tensor = self.conv(x)
        if fused.fuses_norm(norm, y):
            return fused.norm_pool_relu(y, norm.weight, norm.bias, norm.eps)
        # ReLU never decreases, so it commutes with the maximum: pooling first gives the same
        # values and gradients with a quarter of the ReLU's work.
        return functional.relu(functional.max_pool2d(norm(y), 2))


class Conv4(nn.Module):
    """Four convolutional blocks and a linear head; `ways=None` gives an embedding.

    Args:
        channels: channels of the images.
        ways: outputs of the linear head; None for the flattened features themselves.
        image_size: height and width, or one number for both; at least 16.
        filters: filters of every convolution.
        norm: `'batch'` normalises with the statistics of the batch that is passed, so the support
            and the query set are each normalised by their own statistics, in evaluation too. The
            prediction for a query image then depends on the other query images: transductive.
            `'group'` normalises each image by itself; `'none'` not at all.

    Attributes:
        norm, norm_policy: the name of the normalisation policy, and a phrase that explains it.
        features: D, the length of the flattened features.
    """

    def __init__(
        self,
        channels: int = 1,
        ways: int | None = 5,
        image_size: int | tuple[int, int] = 28,
        filters: Annotated[int, Range(1, 65_536)] = 32,
        norm: Norm = "batch",
    ) -> None:
        super().__init__()
        self.norm = check_norm(norm)
        at_least("Conv4", "filters", filters, 1)
        self.channels = channels
        self.height, self.width = image_shape(
            image_size, 2**BLOCKS, f"each of the {BLOCKS} poolings halves it"
        )
        self.features = filters * (self.height // 2**BLOCKS) * (self.width // 2**BLOCKS)
        self.blocks = nn.Sequential(
            *(ConvBlock(filters if i else channels, filters, self.norm) for i in range(BLOCKS))
        )
        self.head = nn.Identity() if ways is None else nn.Linear(self.features, ways)

    @property
    def norm_policy(self) -> str:
        """How activations are normalised, as a phrase to print beside results."""
        return NORM_POLICIES[self.norm]

    def forward(self, x: Tensor) -> Tensor:
        """Return the class scores `[N, ways]` of images `[N, C, H, W]`, or their features."""
        check_images(x, self.channels, self.height, self.width)
        outputs: Tensor = self.head(self.blocks(channels_last(x)).flatten(1))
        return outputs
