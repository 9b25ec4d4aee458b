"""Updates of running statistics by forward passes, recorded without changing the statistics.

A pass of `Forward` writes to copies of the buffers. In train mode a norm layer does not read its
running statistics, so what a pass adds to them does not depend on their previous values: the passes
of a mini-batch may be evaluated in any order and applied in task order. How many batches a pass had
is a number in its buffers, which would have to be read from the device once for each pass; so a
pass is noted as it is (`LayerPass`), and those of a whole mini-batch are read at once.

    momentum m, n batches    running <- (1 - m)^n running + added
    momentum None            running <- (k running + added) / (k + n),   k batches so far
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

RUNNING = ("running_mean", "running_var")
COUNT = "num_batches_tracked"


@dataclass(frozen=True, eq=False)
class LayerPass:
    """The buffers of one layer before and after one forward pass, not read yet."""

    layer: str
    """name of the layer with a trailing dot, the prefix of its buffers' names"""
    momentum: float | None
    counts: tuple[Tensor, Tensor]
    """the number of batches before and after"""
    pairs: tuple[tuple[Tensor, Tensor], ...]
    """the mean and the variance, each before and after"""

    def numbers(self) -> Tensor:
        """Return `[3]`, on the device: batches before, batches of the pass, whether it wrote."""
        before, after = self.counts
        wrote = torch.stack([(old != new).any() for old, new in self.pairs]).any()
        return torch.stack([before, after - before, wrote.to(before)])


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
        count = buffers[self.layer + COUNT]
        before = 0 if self.momentum is not None else int(count)
        kept, share = _shares(self.momentum, self.batches, before)
        for name, added in zip(RUNNING, self.added, strict=True):
            old = buffers[self.layer + name]
            buffers[self.layer + name] = (kept * old.double() + share * added).to(old.dtype)
        if self.counts:
            buffers[self.layer + COUNT] = count + self.batches


def _shares(momentum: float | None, batches: int, before: int) -> tuple[float, float]:
    """Return the factors of the old statistics and of what is added to them.

    Args:
        momentum: of the layer; None for the mean over all batches, which alone needs `before`.
        batches: the batches that are added.
        before: the batches so far.
    """
    if momentum is not None:
        return float((1.0 - momentum) ** batches), 1.0
    total = before + batches
    return before / total, 1.0 / total


def tracking_layers(model: nn.Module) -> dict[str, _NormBase]:
    """Return the layers with running statistics, by the prefix of their buffers' names."""
    return {
        f"{name}." if name else "": module
        for name, module in model.named_modules()
        if isinstance(module, _NormBase)
        and module.running_mean is not None
        and module.num_batches_tracked is not None
    }


def passes_of(
    layers: Mapping[str, _NormBase],
    before: Mapping[str, Tensor],
    after: Mapping[str, Tensor],
    prefix: str,
) -> Iterator[LayerPass]:
    """Yield what a pass did to each layer, whose buffers it may have changed.

    Args:
        layers: the norm layers by name.
        before: the buffers before the pass.
        after: the buffers after the pass.
        prefix: the prefix of the layers' names in the module that owns the buffers.
    """
    for layer, module in layers.items():
        pairs = tuple((before[layer + name], after[layer + name]) for name in RUNNING)
        counts = before[layer + COUNT], after[layer + COUNT]
        yield LayerPass(prefix + layer, module.momentum, counts, pairs)


def read_updates(passes: Sequence[LayerPass]) -> list[StatisticsUpdate]:
    """Return the updates of the layers that passes changed, all read from the device at once.

    The buffers from before the passes must still have the values that they had then.
    """
    if not passes:
        return []
    numbers = torch.stack([each.numbers() for each in passes]).tolist()
    found = []
    for each, (before, counted, wrote) in zip(passes, numbers, strict=True):
        if not counted and not wrote:
            continue  # in eval mode, or not part of the computation
        batches = counted or 1
        kept, share = _shares(each.momentum, batches, before)
        added = tuple((new.double() - kept * old.double()) / share for old, new in each.pairs)
        found.append(StatisticsUpdate(each.layer, batches, counted > 0, each.momentum, added))
    return found


_NOTED: ContextVar[list[LayerPass] | None] = ContextVar("noted", default=None)


def note(passes: Iterable[LayerPass]) -> None:
    """Report what a pass did to the `noted_passes` context of this thread, if any."""
    noted = _NOTED.get()
    if noted is not None:
        noted.extend(passes)


@contextmanager
def noted_passes() -> Iterator[list[LayerPass]]:
    """Provide a list to which the passes of the current thread append what they did."""
    noted: list[LayerPass] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)
