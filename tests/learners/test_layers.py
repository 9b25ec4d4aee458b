"""The layers with a weight, found in any model."""

import pytest
import torch
from torch import nn

from towpath.backbones import MLP, Conv4, ResNet10
from towpath.learners.layers import (
    LayerGroup,
    WeightedLayer,
    feature_count,
    layer_groups,
    sample_shape,
    weighted_layers,
)


def test_layers_come_in_the_order_of_registration_with_their_own_names():
    found = weighted_layers(Conv4(1, 5, 16, filters=4))
    convolutions = [WeightedLayer(f"blocks.{i}.conv.weight", None, 4) for i in range(4)]
    assert found == [*convolutions, WeightedLayer("head.weight", "head.bias", 5)]
    assert found[0].names == ("blocks.0.conv.weight",)
    assert weighted_layers(nn.Linear(3, 2)) == [WeightedLayer("weight", "bias", 2)]


def test_grouped_convolutions_are_left_out():
    """Their outputs see different inputs: no matrix of all outputs is one convolution with them."""
    model = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Conv2d(4, 2, 1, bias=False))
    assert weighted_layers(model) == [WeightedLayer("1.weight", None, 2)]


def test_models_without_such_layers_or_with_shared_weights_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"without linear or convolutional.*Use MAML"):
        weighted_layers(nn.BatchNorm1d(3))
    tied = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    tied[1].weight = tied[0].weight
    with pytest.raises(ValueError, match=r"layer '1', which shares.*Give the layer its own"):
        weighted_layers(tied)


def test_every_parameter_is_in_one_group_with_the_layer_before_it():
    groups = layer_groups(Conv4(1, None, 16, filters=4))
    names = tuple(f"blocks.2.{n}" for n in ("conv.weight", "norm.weight", "norm.bias"))
    assert groups[2] == LayerGroup(names, names[0], names[2], 4)
    for model in (ResNet10(1, 3, 16, filters=2), Conv4(1, 3, 16, filters=4, norm="none")):
        groups = layer_groups(model)
        assert [name for group in groups for name in group.names] == [
            name for name, _ in model.named_parameters()
        ]
        assert len(groups) == len(weighted_layers(model))


def test_a_norm_in_front_belongs_to_the_first_layer_and_only_a_bias_of_its_outputs_moves_it():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2, bias=False), nn.Linear(2, 2))
    first, second = layer_groups(model)
    assert first == LayerGroup(("0.weight", "0.bias", "1.weight"), "1.weight", None, 2)
    assert second == LayerGroup(("2.weight", "2.bias"), "2.weight", "2.bias", 2)


def test_the_shape_of_a_sample_is_what_the_network_says_or_its_first_layer_takes():
    assert sample_shape(Conv4(3, 5, (32, 48))) == (3, 32, 48)
    assert sample_shape(MLP(7, 2)) == (7,)
    assert sample_shape(nn.Sequential(nn.Flatten(), nn.Linear(12, 2))) == (12,)
    with pytest.raises(ValueError, match=r"Pass inputs=\(channels, height, width\)"):
        sample_shape(nn.Conv2d(1, 2, 3))


def test_features_are_counted_without_a_trace():
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5)).double()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    assert feature_count(model, (4,)) == 6
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert feature_count(Conv4(1, None, 32, filters=4), (1, 32, 32)) == 16
