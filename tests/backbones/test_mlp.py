"""The perceptron, and the registry of backbones."""

import pytest
import torch
from torch import nn

from towpath.backbones import BACKBONES, MLP, Conv4, ResNet10, ResNet18


@pytest.mark.parametrize(("activation", "layer"), [("relu", nn.ReLU), ("tanh", nn.Tanh)])
@pytest.mark.parametrize("outputs", [2, None])
def test_equals_a_sequence_of_its_layers(activation, layer, outputs):
    torch.manual_seed(0)
    model = MLP(inputs=6, outputs=outputs, hidden=(5, 7), activation=activation).double()
    reference = nn.Sequential(
        nn.Flatten(), model.layers[0], layer(), model.layers[1], layer(), model.head
    )
    x = torch.randn(4, 2, 3, dtype=torch.float64)
    assert torch.equal(model(x), reference(x))
    assert model(x).shape == (4, outputs or 7)
    assert model.norm_policy == "none"


def test_impossible_settings_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"Found hidden=\(\); expected one positive width"):
        MLP(hidden=())
    with pytest.raises(ValueError, match="Found activation='gelu'; expected 'relu' or 'tanh'"):
        MLP(activation="gelu")
    with pytest.raises(ValueError, match="Found inputs of 3 numbers a sample; expected 1"):
        MLP()(torch.zeros(2, 3))


def test_registry_names_every_backbone():
    assert {"conv4": Conv4, "mlp": MLP, "resnet10": ResNet10, "resnet18": ResNet18} == BACKBONES
