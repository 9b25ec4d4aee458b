"""Named parameters as one vector: the state `x [P]` that the planner steers.

`Layout` remembers names and shapes; `flatten` and `unflatten` are inverse to each other and
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
    """Names and shapes of the parameters in the order of the vector."""

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]
    part: tuple[int, int] | None = None
    """the coordinates that `expand` is for, where it is not for all"""

    @classmethod
    def of(cls, params: Mapping[str, Tensor]) -> "Layout":
        """The layout of a dictionary of parameters, in its order."""
        return cls(tuple(params), tuple(p.shape for p in params.values()))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of coordinates of each parameter."""
        return tuple(math.prod(shape) for shape in self.shapes)

    @property
    def total(self) -> int:
        """P, the number of coordinates."""
        return sum(self.sizes)

    def flatten(self, tensors: Sequence[Tensor]) -> Tensor:
        """One tensor a parameter, in order, as a vector `[P]`."""
        return torch.cat([tensor.reshape(-1) for tensor in tensors])

    def unflatten(self, vector: Tensor) -> dict[str, Tensor]:
        """Views of a vector `[P]` under the parameters' names and shapes."""
        pieces = torch.split_with_sizes(vector, list(self.sizes))
        return {
            name: piece.view(shape)
            for name, shape, piece in zip(self.names, self.shapes, pieces, strict=True)
        }

    def expand(self, values: Sequence[float], like: Tensor) -> Tensor | float:
        """One number a parameter as a coefficient of the vector: a float where all agree."""
        if len(set(values)) == 1:
            return values[0]
        each = torch.tensor(values, dtype=torch.float64, device="cpu")
        sizes = torch.tensor(self.sizes, device="cpu")
        start, stop = self.part or (0, self.total)
        return torch.repeat_interleave(each, sizes)[start:stop].to(like)
