"""What forward passes do to running statistics, noted down without touching them.

A pass of `Forward` writes to copies of the buffers. In train mode a norm layer does not read its
running statistics, so what a pass adds to them is known without what they were before, and the
passes of a mini-batch may be evaluated in any order and counted in theirs:

    momentum m, n batches    running <- (1 - m)^n running + added
    momentum None            running <- (k running + added) / (k + n),   k batches so far
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

RUNNING = ("running_mean", "running_var")
COUNT = "num_batches_tracked"


@dataclass(frozen=True, eq=False)
class StatisticsUpdate:
    """What one pass adds to the running statistics of one layer."""

    layer: str
    """its name, with the dot that its buffers' names go on after"""
    batches: int
    """how often the pass went through the layer"""
    counts: bool
    """whether the layer counts its batches (instance norm does not)"""
    momentum: float | None
    added: tuple[Tensor, ...]
    """to the mean and to the variance, float64"""

    def apply_to(self, buffers: dict[str, Tensor]) -> None:
        """Replace the layer's buffers by what the pass makes of them."""
        kept, share = _shares(self.momentum, self.batches, buffers[self.layer + COUNT])
        for name, added in zip(RUNNING, self.added, strict=True):
            old = buffers[self.layer + name]
            buffers[self.layer + name] = (kept * old.double() + share * added).to(old.dtype)
        if self.counts:
            buffers[self.layer + COUNT] = buffers[self.layer + COUNT] + self.batches


def _shares(momentum: float | None, batches: int, before: Tensor) -> tuple[float, float]:
    """Factors of the old statistics and of what is added to them."""
    if momentum is not None:
        return float((1.0 - momentum) ** batches), 1.0
    total = int(before) + batches
    return int(before) / total, 1.0 / total


def tracking_layers(model: nn.Module) -> dict[str, _NormBase]:
    """The layers that keep running statistics, by the prefix of their buffers' names."""
    return {
        f"{name}." if name else "": module
        for name, module in model.named_modules()
        if isinstance(module, _NormBase)
        and module.running_mean is not None
        and module.num_batches_tracked is not None
    }


def updates_of(
    layers: Mapping[str, _NormBase],
    before: Mapping[str, Tensor],
    after: Mapping[str, Tensor],
    prefix: str,
) -> Iterator[StatisticsUpdate]:
    """What a pass that led from the buffers `before` to `after` added to those in use.

    Args:
        layers: the norm layers by name.
        before: the buffers as the pass found them.
        after: the buffers as the pass left them.
        prefix: stands before a layer's name in the module that owns the buffers.
    """
    for layer, module in layers.items():
        counted = int(after[layer + COUNT] - before[layer + COUNT])
        pairs = [(before[layer + name], after[layer + name]) for name in RUNNING]
        if counted == 0 and all(torch.equal(old, new) for old, new in pairs):
            continue  # in eval mode, or not on the way
        batches = counted or 1
        kept, share = _shares(module.momentum, batches, before[layer + COUNT])
        added = tuple((new.double() - kept * old.double()) / share for old, new in pairs)
        yield StatisticsUpdate(prefix + layer, batches, counted > 0, module.momentum, added)


_NOTED: ContextVar[list[StatisticsUpdate] | None] = ContextVar("noted", default=None)


def note(updates: Iterator[StatisticsUpdate]) -> None:
    """Report what a pass added to whoever listens in this thread."""
    noted = _NOTED.get()
    if noted is not None:
        noted.extend(updates)


@contextmanager
def noted_updates() -> Iterator[list[StatisticsUpdate]]:
    """A list that grows with the passes of the current thread."""
    noted: list[StatisticsUpdate] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)
