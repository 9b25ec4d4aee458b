"""Normalisation policies: whose statistics normalise an activation, said aloud.

In few-shot learning this choice changes accuracy by points and is often left unsaid, so every
backbone takes `norm`, keeps it as `model.norm` (to be saved with a run) and explains it as
`model.norm_policy` (to be printed beside results). No policy keeps buffers: a network's outputs
depend on its parameters and on the set being passed only, in training and in evaluation alike.
"""

import math
from typing import Literal

from torch import nn

Norm = Literal["batch", "group", "none"]

NORM_POLICIES: dict[Norm, str] = {
    "batch": "batch norm with the statistics of the set being passed (transductive)",
    "group": "group norm: each sample by itself",
    "none": "no normalisation",
}

GROUPS = 8


def check_norm(norm: str) -> Norm:
    """`norm` itself when it names a policy."""
    if norm not in NORM_POLICIES:
        raise ValueError(
            f"Found norm={norm!r}; expected one of {', '.join(map(repr, NORM_POLICIES))}. "
            "Pass norm='batch' for the usual few-shot setting."
        )
    return norm


def norm_layer(norm: Norm, channels: int) -> nn.Module:
    """The layer of a policy for activations `[N, channels, H, W]`."""
    if norm == "batch":
        return nn.BatchNorm2d(channels, track_running_stats=False)
    if norm == "group":
        return nn.GroupNorm(math.gcd(GROUPS, channels), channels)
    return nn.Identity()
