"""Networks for few-shot learning, as plain `nn.Module`s that can be used outside the library."""

from torch import nn

from towpath.backbones.conv4 import Conv4
from towpath.backbones.mlp import MLP
from towpath.backbones.norms import NORM_POLICIES, Norm, batch_norm_policies, use_batch_norm
from towpath.backbones.resnet import ResNet, ResNet10, ResNet18

BACKBONES: dict[str, type[nn.Module]] = {
    "conv4": Conv4,
    "mlp": MLP,
    "resnet10": ResNet10,
    "resnet18": ResNet18,
}
"""The backbones by their name in recipes."""

__all__ = [
    "BACKBONES",
    "MLP",
    "NORM_POLICIES",
    "Conv4",
    "Norm",
    "ResNet",
    "ResNet10",
    "ResNet18",
    "batch_norm_policies",
    "use_batch_norm",
]
