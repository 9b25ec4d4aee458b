"""The gradients J `[M, P]` of a stage as they are stored, and read at some coordinates at a time.

    ExactGradients  as they were computed
    HalfGradients   16 bits a number, with a scale for each task and block of coordinates

J is the largest thing that planning stores, and a model only needs it to a few digits: products
with J are sums over many coordinates, in which the roundings of single numbers average out.
Training never steps on stored gradients.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

BLOCK = 32768
"""how many coordinates share a scale"""
HIGHEST = 15
"""a block's largest number lies between a half of 2^15 and 2^15, so that it is finite in 16 bits"""
LARGEST_SHIFT = 126
"""the largest shift of the exponent whose inverse is a normal number, too"""


class Gradients(Protocol):
    """The gradients J of a stage, read at some coordinates at a time."""

    @property
    def shape(self) -> tuple[int, int]:
        """The sizes M and P."""
        ...

    def part(self, at: slice) -> Tensor:
        """Return J at some coordinates, in the dtype of the parameters."""
        ...


class StoredGradients(Gradients, Protocol):
    """The gradients J of a stage, whatever they are stored in."""

    def weighted(self, weights: Tensor) -> Tensor:
        """Return `weights . J  [P]`."""
        ...


@dataclass(frozen=True, eq=False)
class ExactGradients:
    """Gradients stored as they are."""

    values: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """The sizes M and P."""
        return self.values.shape[0], self.values.shape[1]

    def part(self, at: slice) -> Tensor:
        """Return J at some coordinates, as a view."""
        return self.values[:, at]

    def weighted(self, weights: Tensor) -> Tensor:
        """Return `weights . J  [P]`."""
        return weights @ self.values


@dataclass(frozen=True, eq=False)
class HalfGradients:
    """Gradients in float32 whose numbers are stored in 16 bits, relative to the largest of a block.

    Eleven binary digits are kept of every number down to 2^-28 of the largest one of its task and
    block. What is not finite stays so, and may make large numbers of its block infinite.
    """

    values: Tensor
    """`[M, P]`, float16"""
    scales: Tensor
    """`[M, blocks]`, powers of two in float32: `J = scale * value`"""

    @classmethod
    def of(cls, J: Tensor) -> "HalfGradients | ExactGradients":
        """Return float32 gradients in 16 bits; those of another dtype are stored as they are."""
        if J.dtype != torch.float32:
            return ExactGradients(J)
        values = torch.empty_like(J, dtype=torch.float16)
        scales = J.new_empty(len(J), -(-J.shape[1] // BLOCK))
        for i, at in _blocks(slice(0, J.shape[1])):
            part = J[:, at]
            scales[:, i] = _scales(part)
            values[:, at] = part / scales[:, i, None]
        return cls(values, scales)

    @property
    def shape(self) -> tuple[int, int]:
        """The sizes M and P."""
        return self.values.shape[0], self.values.shape[1]

    def part(self, at: slice) -> Tensor:
        """Return J at some coordinates, in float32."""
        start, stop, _ = at.indices(self.shape[1])
        parts = [
            self.values[:, block].float().mul_(self.scales[:, i, None])
            for i, block in _blocks(slice(start, stop))
        ]
        return parts[0] if len(parts) == 1 else torch.cat([*parts, self.scales[:, :0]], dim=1)

    def weighted(self, weights: Tensor) -> Tensor:
        """Return `weights . J  [P]`."""
        result = self.scales.new_empty(self.shape[1])
        for _, at in _blocks(slice(0, self.shape[1])):
            result[at] = weights @ self.part(at)
        return result


def _blocks(at: slice) -> Iterator[tuple[int, slice]]:
    """Yield the number of each block that has some of the coordinates, and which of them."""
    for i in range(at.start // BLOCK, -(-at.stop // BLOCK)):
        yield i, slice(max(at.start, i * BLOCK), min(at.stop, (i + 1) * BLOCK))


def _scales(part: Tensor) -> Tensor:
    """Return the scale `[M]` of each task in a block: 1 where a number is not finite."""
    lowest, highest = torch.aminmax(part, dim=1)
    largest = torch.maximum(-lowest, highest)
    exponents = (torch.frexp(largest).exponent - HIGHEST).clamp(-LARGEST_SHIFT, LARGEST_SHIFT)
    scales = torch.ldexp(torch.ones_like(largest), exponents)
    return torch.where(torch.isfinite(largest), scales, 1.0)
