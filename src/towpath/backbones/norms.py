"""Normalisation policies: which statistics normalise an activation, stated with every result.

In few-shot learning this choice changes accuracy by several points and often goes unreported. So
every backbone takes `norm`, keeps it as `model.norm` (saved with a run) and explains it in
`model.norm_policy` (printed beside results). No policy keeps buffers: a network's outputs depend
only on its parameters and on the batch that is passed, in training and in evaluation alike.

A network of the user's may have batch norm with running statistics. A plan takes every layer in the
mode that it is in; `use_batch_norm` puts all of them into one of three:

    batch     the statistics of the batch that is passed, always; there are no buffers
    running   torch's default: the batch's in train mode, where each pass moves the running ones,
              which are used in eval mode; `plan.apply_` leaves them as a plain loop does
    frozen    the running statistics as they are, always: for a pretrained network
"""

import math
from typing import Literal, TypeVar

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

Norm = Literal["batch", "group", "none"]

NORM_POLICIES: dict[Norm, str] = {
    "batch": "batch norm with the statistics of the set being passed (transductive)",
    "group": "group norm: each sample by itself",
    "none": "none",
}

GROUPS = 8


def check_norm(norm: str) -> Norm:
    """Return `norm` if it is the name of a policy; raise a ValueError otherwise."""
    if norm not in NORM_POLICIES:
        raise ValueError(
            f"Found norm={norm!r}; expected one of {', '.join(map(repr, NORM_POLICIES))}. "
            "Pass norm='batch' for the usual few-shot setting."
        )
    return norm


def norm_layer(norm: Norm, channels: int) -> nn.Module:
    """Return a layer that applies the policy to activations `[N, channels, H, W]`."""
    if norm == "batch":
        return nn.BatchNorm2d(channels, track_running_stats=False)
    if norm == "group":
        return nn.GroupNorm(math.gcd(GROUPS, channels), channels)
    return nn.Identity()


BatchNormPolicy = Literal["batch", "running", "frozen"]
BATCH_NORM_POLICIES: dict[BatchNormPolicy, str] = {
    "batch": NORM_POLICIES["batch"],
    "running": "batch norm with the statistics of the set in training and running ones afterwards",
    "frozen": "batch norm with running statistics that stay as they are",
}
Model = TypeVar("Model", bound=nn.Module)


def use_batch_norm(model: Model, policy: BatchNormPolicy) -> Model:
    """Put every batch norm layer of a model into the mode of a policy; return the model.

    Call it after `model.train()` or `model.eval()`, which set the layers' modes anew.

    Args:
        model: any module; other layers stay as they are.
        policy: "batch", "running" or "frozen" (the module's docstring says what they do).
    """
    if policy not in BATCH_NORM_POLICIES:
        raise ValueError(
            f"Found the batch norm policy {policy!r}; expected one of "
            f"{', '.join(map(repr, BATCH_NORM_POLICIES))}."
        )
    for name, layer in _layers(model).items():
        if policy == "frozen" and layer.running_mean is None:
            raise ValueError(
                f"The batch norm layer {name!r} has no running statistics to freeze; expected one "
                "with track_running_stats=True that has seen data. Use the policy 'batch'."
            )
        if policy == "batch":
            layer.track_running_stats = False
            layer.running_mean = layer.running_var = layer.num_batches_tracked = None
        elif layer.running_mean is None:
            _begin_tracking(layer, next(model.parameters(), torch.empty(0)))
        layer.train(policy != "frozen")
    return model


def batch_norm_policies(model: nn.Module) -> dict[str, BatchNormPolicy]:
    """Return the policy of each batch norm layer by the layer's name, as its mode says."""
    return {
        name: "batch" if layer.running_mean is None else "running" if layer.training else "frozen"
        for name, layer in _layers(model).items()
    }


def _layers(model: nn.Module) -> dict[str, _BatchNorm]:
    return {name: m for name, m in model.named_modules() if isinstance(m, _BatchNorm)}


def _begin_tracking(layer: _BatchNorm, like: torch.Tensor) -> None:
    """Give a layer the running statistics of one that has seen nothing yet, typed as `like`."""
    layer.track_running_stats = True
    layer.running_mean = torch.zeros(layer.num_features, dtype=like.dtype, device=like.device)
    layer.running_var = torch.ones_like(layer.running_mean)
    layer.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=like.device)
