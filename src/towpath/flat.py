"""Named parameters as one vector: the `x [P]` that the planner steers.

`Layout` stores the names and shapes. `flatten` and `unflatten` are inverse to each other, and
neither copies more than once.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Layout:
    """The names and shapes of the parameters, in their order in the vector."""

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]
    part: tuple[int, int] | None = None
    """the first coordinate and the one after the last of what `expand` returns; None for all"""

    @classmethod
    def of(cls, params: Mapping[str, Tensor]) -> "Layout":
        """Return the layout of a dictionary of parameters, in the order of the dictionary."""
        return cls(tuple(params), tuple(p.shape for p in params.values()))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of coordinates (tensor elements) of each parameter."""
        return tuple(math.prod(shape) for shape in self.shapes)

    @property
    def total(self) -> int:
        """P, the number of coordinates of all parameters together."""
        return sum(self.sizes)

    def flatten(self, tensors: Sequence[Tensor]) -> Tensor:
        """Join one tensor for each parameter, in the order of the layout, to a vector `[P]`."""
        return torch.cat([tensor.reshape(-1) for tensor in tensors])

    def unflatten(self, vector: Tensor) -> dict[str, Tensor]:
        """Return views of a vector `[P]` by the parameters' names, in the parameters' shapes."""
        pieces = torch.split_with_sizes(vector, list(self.sizes))
        return {
            name: piece.view(shape)
            for name, shape, piece in zip(self.names, self.shapes, pieces, strict=True)
        }

    def expand(self, values: Sequence[float], like: Tensor) -> Tensor | float:
        """Spread one number for each parameter over the vector; a float if all are equal.

        Args:
            values: the numbers, in the order of the layout.
            like: a tensor with the dtype and device of the result.
        """
        if len(set(values)) == 1:
            return values[0]
        each = torch.tensor(values, dtype=torch.float64, device="cpu")
        ends = torch.tensor((0, *self.sizes), device="cpu").cumsum(0)
        start, stop = self.part or (0, self.total)
        counts = ends.clamp(start, stop).diff()  # how many coordinates of each are in the part
        return torch.repeat_interleave(each, counts).to(like)
