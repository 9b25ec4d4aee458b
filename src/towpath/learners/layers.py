"""The layers of a model that multiply by a weight, whose outputs (units, filters) have a number."""

from dataclasses import dataclass

import torch
from torch import nn

from towpath.learners.forward import Forward

WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


@dataclass(frozen=True)
class WeightedLayer:
    """A linear or convolutional layer, with the names of its parameters in the model."""

    weight: str
    """name of the weight `[outputs, ...]`"""
    bias: str | None
    """name of the bias `[outputs]`; None for a layer without one"""
    outputs: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return (self.weight,) if self.bias is None else (self.weight, self.bias)


def weighted_layers(model: nn.Module) -> list[WeightedLayer]:
    """Return the linear and (ungrouped) convolutional layers, in the order of registration.

    Raises:
        ValueError: if there is none, or two layers share a weight, which then has no number of
            outputs of its own.
    """
    known = {name for name, _ in model.named_parameters()}
    layers = []
    for place, module in model.named_modules():
        if not isinstance(module, WEIGHTED) or getattr(module, "groups", 1) != 1:
            continue
        prefix = f"{place}." if place else ""
        bias = None if module.bias is None else f"{prefix}bias"
        layer = WeightedLayer(f"{prefix}weight", bias, len(module.weight))
        if not known.issuperset(layer.names):
            raise ValueError(
                f"Found the layer {place!r}, which shares its weight or bias with another one; "
                "expected parameters of its own, because the learner treats each layer by itself. "
                "Give the layer its own parameters, or use MAML."
            )
        layers.append(layer)
    if not layers:
        raise ValueError(
            "Found a model without linear or convolutional layers; expected at least one, because "
            "this learner works on their outputs. Use MAML for other models."
        )
    return layers


@dataclass(frozen=True)
class LayerGroup:
    """A weighted layer with the parameters that follow it before the next: its bias, its norm."""

    names: tuple[str, ...]
    """names of all parameters of the group"""
    weight: str
    """name of the layer's weight `[outputs, ...]`"""
    shift: str | None
    """name of the first bias `[outputs]`, the layer's own or its norm's; None if there is none"""
    outputs: int


def layer_groups(model: nn.Module) -> list[LayerGroup]:
    """Return all parameters of a model by layer, in the order of registration."""
    layers = {layer.weight: layer for layer in weighted_layers(model)}
    shapes = {name: p.shape for name, p in model.named_parameters()}
    members: list[list[str]] = []
    for name in shapes:
        # what comes before the first layer belongs to it
        if not members or (name in layers and layers.keys() & set(members[-1])):
            members.append([])
        members[-1].append(name)
    groups = []
    for names in members:
        layer = next(layers[name] for name in names if name in layers)
        biases = (name for name in names if name.rpartition(".")[2] == "bias")
        shift = next((name for name in biases if shapes[name] == (layer.outputs,)), None)
        groups.append(LayerGroup(tuple(names), layer.weight, shift, layer.outputs))
    return groups


def sample_shape(model: nn.Module) -> tuple[int, ...]:
    """Return the shape of one sample: what the model says, or what its first layer takes.

    Raises:
        ValueError: if neither tells it, which is so for images of a model of the user's.
    """
    sizes = [getattr(model, name, None) for name in ("channels", "height", "width")]
    if all(isinstance(size, int) for size in sizes):
        return tuple(int(size) for size in sizes if size is not None)
    first = next((each for each in model.modules() if isinstance(each, WEIGHTED)), None)
    if isinstance(first, nn.Linear):
        return (first.in_features,)
    raise ValueError(
        "Found a network of images that does not say their size; expected its attributes "
        "channels, height and width. Pass inputs=(channels, height, width)."
    )


def feature_count(model: nn.Module, shape: tuple[int, ...]) -> int:
    """Return D, the length of an embedding's flattened features, from a pass of two zeros.

    Args:
        model: the embedding, which is left as it is.
        shape: the shape of one sample.
    """
    params = dict(model.named_parameters())
    like = next(iter(params.values()))
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        # two samples, because a norm over the batch refuses one
        return Forward(model)(params, like.new_zeros(2, *shape)).flatten(1).shape[1]
