"""Residual networks for few-shot learning (He et al. 2016, in the form of Chen et al. 2019).

A 7x7 convolution of stride 2 and a 3x3 max-pooling of stride 2, four stages of basic blocks with
F, 2F, 4F, 8F filters (the last three halve the image), global average pooling, and a linear head:
`[N, C, H, W] -> [N, ways]`, or the features `[N, 8F]` when `ways=None`. ResNet10 has one block a
stage, ResNet18 two. Larger networks overfit on few shots, hence the dropout after each block (as
the paper regularises its ResNet-10, without naming a rate).
"""

from typing import Annotated, ClassVar

from torch import Tensor, nn
from torch.nn import functional

from towpath.backbones.images import channels_last, check_images, image_shape
from towpath.backbones.norms import NORM_POLICIES, Norm, check_norm, norm_layer
from towpath.validation import Range, at_least

SMALLEST = 16


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut: `[N, C, H, W] -> [N, F, H/stride, W/stride]`."""

    def __init__(
        self, channels: int, filters: int, stride: int, norm: Norm, dropout: float
    ) -> None:
        super().__init__()
        bias = norm == "none"
        self.conv1 = nn.Conv2d(channels, filters, 3, stride, padding=1, bias=bias)
        self.norm1 = norm_layer(norm, filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1, bias=bias)
        self.norm2 = norm_layer(norm, filters)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels != filters:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, filters, 1, stride, bias=bias), norm_layer(norm, filters)
            )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features `[N, F, H/stride, W/stride]` of features `[N, C, H, W]`."""
        y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        outputs: Tensor = self.dropout(functional.relu(y + self.shortcut(x)))
        return outputs


class ResNet(nn.Module):
    """A residual network with `blocks` basic blocks in each of its four stages.

    Args:
        blocks: basic blocks of each stage.
        channels: channels of the images.
        ways: outputs of the linear head; None for the features themselves.
        image_size: height and width, or one number for both; at least 16.
        filters: F, filters of the first stage.
        dropout: probability of dropping an activation after each block, in `train()` mode; call
            `eval()` before measuring accuracy. The masks come from torch's global generator.
        norm: as for `Conv4`; `'batch'` is transductive, in `eval()` mode too.

    Attributes:
        norm, norm_policy: the name of the normalisation policy, and a phrase that explains it.
        features: the length of the features, 8F.
    """

    def __init__(
        self,
        blocks: tuple[int, int, int, int],
        channels: int = 3,
        ways: int | None = 5,
        image_size: int | tuple[int, int] = 84,
        filters: Annotated[int, Range(1, 65_536)] = 64,
        dropout: float = 0.1,
        norm: Norm = "batch",
    ) -> None:
        super().__init__()
        self.norm = check_norm(norm)
        at_least("ResNet", "filters", filters, 1)
        if not 0 <= dropout < 1:
            raise ValueError(
                f"Found dropout={dropout}; expected a probability, 0 <= dropout < 1. "
                "Pass dropout=0 for none."
            )
        self.channels = channels
        self.height, self.width = image_shape(
            image_size, SMALLEST, "the stem and three of the stages each halve it"
        )
        self.stem = nn.Conv2d(channels, filters, 7, 2, padding=3, bias=self.norm == "none")
        self.stem_norm = norm_layer(self.norm, filters)
        stages: list[nn.Module] = []
        inputs = filters
        for stage, count in enumerate(blocks):
            outputs = filters * 2**stage
            for block in range(count):
                stride = 2 if stage > 0 and block == 0 else 1
                stages.append(BasicBlock(inputs, outputs, stride, self.norm, dropout))
                inputs = outputs
        self.blocks = nn.Sequential(*stages)
        self.features = inputs
        self.head = nn.Identity() if ways is None else nn.Linear(self.features, ways)

    @property
    def norm_policy(self) -> str:
        """How activations are normalised, as a phrase to print beside results."""
        return NORM_POLICIES[self.norm]

    def forward(self, x: Tensor) -> Tensor:
        """Return the class scores `[N, ways]` of images `[N, C, H, W]`, or their features."""
        check_images(x, self.channels, self.height, self.width)
        x = self.stem_norm(self.stem(channels_last(x)))
        # Padding of the pooling counts as -inf, never as the maximum: ReLU commutes with it.
        x = functional.relu(functional.max_pool2d(x, 3, 2, padding=1))
        outputs: Tensor = self.head(self.blocks(x).mean((2, 3)))
        return outputs


class _ResNetOfOneSize(ResNet):
    """A `ResNet` whose class says how many blocks a stage has."""

    blocks_a_stage: ClassVar[int]

    def __init__(
        self,
        channels: int = 3,
        ways: int | None = 5,
        image_size: int | tuple[int, int] = 84,
        filters: Annotated[int, Range(1, 65_536)] = 64,
        dropout: float = 0.1,
        norm: Norm = "batch",
    ) -> None:
        n = self.blocks_a_stage
        super().__init__((n, n, n, n), channels, ways, image_size, filters, dropout, norm)


class ResNet10(_ResNetOfOneSize):
    """A `ResNet` with one basic block in each stage: 4.9 million parameters with 64 filters."""

    blocks_a_stage = 1


class ResNet18(_ResNetOfOneSize):
    """A `ResNet` with two basic blocks in each stage: 11.2 million parameters with 64 filters."""

    blocks_a_stage = 2
