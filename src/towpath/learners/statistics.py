"""Updates of running statistics by forward passes, recorded without changing the statistics.

A pass of `Forward` writes to copies of the buffers. In train mode a norm layer does not read its
running statistics, so what a pass adds to them does not depend on their previous values: the passes
of a mini-batch may be evaluated in any order and applied in task order.

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
    """The update of one layer's running statistics by one forward pass."""

    layer: str
    """name of the layer with a trailing dot, the prefix of its buffers' names"""
    batches: int
    """how often the pass went through the layer"""
    counts: bool
    """whether the layer counts its batches (instance norm does not)"""
    momentum: float | None
    added: tuple[Tensor, ...]
    """what is added to the mean and to the variance, float64"""

    def apply_to(self, buffers: dict[str, Tensor]) -> None:
        """Replace the layer's entries in `buffers` by their values after the pass."""
        kept, share = _shares(self.momentum, self.batches, buffers[self.layer + COUNT])
        for name, added in zip(RUNNING, self.added, strict=True):
            old = buffers[self.layer + name]
            buffers[self.layer + name] = (kept * old.double() + share * added).to(old.dtype)
        if self.counts:
            buffers[self.layer + COUNT] = buffers[self.layer + COUNT] + self.batches


def _shares(momentum: float | None, batches: int, before: Tensor) -> tuple[float, float]:
    """Return the factors of the old statistics and of what is added to them."""
    if momentum is not None:
        return float((1.0 - momentum) ** batches), 1.0
    total = int(before) + batches
    return int(before) / total, 1.0 / total


def tracking_layers(model: nn.Module) -> dict[str, _NormBase]:
    """Return the layers with running statistics, by the prefix of their buffers' names."""
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
    """Yield the update of each layer whose buffers a pass changed from `before` to `after`.

    Args:
        layers: the norm layers by name.
        before: the buffers before the pass.
        after: the buffers after the pass.
        prefix: the prefix of the layers' names in the module that owns the buffers.
    """
    for layer, module in layers.items():
        counted = int(after[layer + COUNT] - before[layer + COUNT])
        pairs = [(before[layer + name], after[layer + name]) for name in RUNNING]
        if counted == 0 and all(torch.equal(old, new) for old, new in pairs):
            continue  # in eval mode, or not part of the computation
        batches = counted or 1
        kept, share = _shares(module.momentum, batches, before[layer + COUNT])
        added = tuple((new.double() - kept * old.double()) / share for old, new in pairs)
        yield StatisticsUpdate(prefix + layer, batches, counted > 0, module.momentum, added)


_NOTED: ContextVar[list[StatisticsUpdate] | None] = ContextVar("noted", default=None)


def note(updates: Iterator[StatisticsUpdate]) -> None:
    """Report the updates of a pass to the `noted_updates` context of this thread, if any."""
    noted = _NOTED.get()
    if noted is not None:
        noted.extend(updates)


@contextmanager
def noted_updates() -> Iterator[list[StatisticsUpdate]]:
    """Provide a list to which the passes of the current thread append their updates."""
    noted: list[StatisticsUpdate] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)
