"""Random tasks and small networks for the tests of the learners, in float64."""

from collections.abc import Sequence

import torch
from torch import Tensor

from towpath.data.episode import Episode


def classification(
    shots: Sequence[int] = (1, 3, 2),
    query: int = 2,
    shape: Sequence[int] = (4,),
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> Episode:
    """A task with `shots[k]` shuffled support samples of class k: any-shot where they differ."""
    generator = torch.Generator().manual_seed(seed)

    def part(labels: Tensor) -> tuple[Tensor, Tensor]:
        labels = labels[torch.randperm(len(labels), generator=generator)]
        x = torch.randn(len(labels), *shape, generator=generator, dtype=torch.float64)
        return (x + labels.view(-1, *[1] * len(shape)) / 2).to(dtype), labels

    classes = torch.arange(len(shots))
    support = part(classes.repeat_interleave(torch.tensor(list(shots))))
    return Episode(*support, *part(classes.repeat(query)))


def regression(
    shots: int = 5, query: int = 7, inputs: int = 4, outputs: int = 2, seed: int = 0
) -> Episode:
    """A task of random linear maps with noise."""
    generator = torch.Generator().manual_seed(seed)
    slope = torch.randn(inputs, outputs, generator=generator, dtype=torch.float64)

    def part(count: int) -> tuple[Tensor, Tensor]:
        x = torch.randn(count, inputs, generator=generator, dtype=torch.float64)
        noise = torch.randn(count, outputs, generator=generator, dtype=torch.float64)
        return x, x @ slope + noise / 10

    return Episode(*part(shots), *part(query))
