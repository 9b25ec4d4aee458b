"""The range of a task's labels, read from the device once for a whole mini-batch.

Losses and learners check labels before they use them. Where the labels are on an accelerator, each
check would wait for everything that the device still has to do, once for each task and inner step.
So whoever evaluates many tasks reads the ranges of all of their labels at once (`LabelRanges.read`)
and makes them known while the tasks are evaluated (`LabelRanges.known`); a check asks `known_range`
first. Of labels that nobody has read before, such as those that a function of the user's computes,
it reads what it needs itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LabelRange:
    """The smallest and the largest label, and how many different ones there are."""

    least: int
    most: int
    distinct: int

    def within(self, classes: int) -> bool:
        """Return whether all labels are in 0..classes-1."""
        return self.least >= 0 and self.most < classes

    def may_have(self, label: int | None) -> bool:
        """Return whether a label is between the smallest and the largest one; None is not."""
        return label is not None and self.least <= label <= self.most


@dataclass(frozen=True, eq=False)
class _Read:
    """What was read of a tensor, which is held so that its id stays its own."""

    labels: Tensor
    version: int
    """how often the tensor had been written to when it was read"""
    range: LabelRange


@dataclass(frozen=True, eq=False)
class LabelRanges:
    """The ranges of some label tensors, which are told apart by identity."""

    _of: Mapping[int, _Read]

    @classmethod
    def read(cls, labels: Iterable[Tensor]) -> "LabelRanges":
        """Return the ranges of label tensors, all read from their device at once.

        Args:
            labels: tensors `[n]` of whole numbers on one device, none of them empty. Inference
                tensors are left out, because nobody can tell whether they were written to since.
        """
        alike: dict[int, list[Tensor]] = {}
        for each in labels:
            if not each.is_inference():
                alike.setdefault(len(each), []).append(each)
        tables = [_ranges(torch.stack([y.long() for y in group])) for group in alike.values()]
        if not tables:
            return cls({})
        numbers = torch.cat(tables).tolist()
        held = [y for group in alike.values() for y in group]
        return cls(
            {
                id(y): _Read(y, y._version, LabelRange(*row))
                for y, row in zip(held, numbers, strict=True)
            }
        )

    def of(self, labels: Tensor) -> LabelRange | None:
        """Return the range of a tensor; None if it was not read, or was written to since."""
        read = self._of.get(id(labels))
        return None if read is None or labels._version != read.version else read.range

    @contextmanager
    def known(self) -> Iterator[None]:
        """Make these ranges known to the checks of the current thread inside this context."""
        token = _KNOWN.set(self)
        try:
            yield
        finally:
            _KNOWN.reset(token)


_KNOWN: ContextVar[LabelRanges | None] = ContextVar("known", default=None)


def known_range(labels: Tensor) -> LabelRange | None:
    """Return the range of label tensors that were read beforehand, None of all others."""
    ranges = _KNOWN.get()
    return None if ranges is None else ranges.of(labels)


def label_range(labels: Tensor) -> LabelRange:
    """Return the range of labels `[n]`, n > 0, which is read now if it is not known."""
    known = known_range(labels)
    return LabelRange(*_ranges(labels.long()[None])[0].tolist()) if known is None else known


def _ranges(labels: Tensor) -> Tensor:
    """Return `[m, 3]`, the least and the most label and the number of different ones of each row.

    Args:
        labels: `[m, n]`, whole numbers.
    """
    ordered = labels.sort(1).values
    distinct = (ordered[:, 1:] != ordered[:, :-1]).sum(1) + 1
    return torch.stack([ordered[:, 0], ordered[:, -1], distinct], 1)
