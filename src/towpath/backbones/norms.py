"""Normalisation policies: which statistics normalise an activation, stated with every result.

In few-shot learning this choice changes accuracy by several points and often goes unreported. So
every backbone takes `norm`, keeps it as `model.norm` (saved with a run) and explains it in
`model.norm_policy` (printed beside results). No policy keeps buffers: a network's outputs depend
only on its parameters and on the batch that is passed, in training and in evaluation alike.
"""

import math
from typing import Literal

from torch import nn

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
