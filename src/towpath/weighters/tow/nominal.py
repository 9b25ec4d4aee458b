"""The nominal weights, from which planning starts."""

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from towpath.weighters.seeds import stage_seed


class Nominal(Protocol):
    """Makes the weights that a plan starts from; the plan ends with weights that are no worse."""

    def actions(self, T: int, M: int, seed: int) -> Tensor:
        """Return weights `[T, M]` of T mini-batches of M tasks, float64, on the CPU."""
        ...


@dataclass(frozen=True)
class UniformNominal:
    """A start where all tasks of a mini-batch weigh the same."""

    def actions(self, T: int, M: int, seed: int) -> Tensor:  # noqa: ARG002
        """Return weights `[T, M]` that are 1/M everywhere."""
        return torch.full((T, M), 1.0 / M, dtype=torch.float64, device="cpu")


@dataclass(frozen=True)
class RandomNominal:
    """A start where each mini-batch has its own random weights from Dirichlet(1)."""

    def actions(self, T: int, M: int, seed: int) -> Tensor:
        """Draw weights `[T, M]` that depend on the plan's seed only."""
        generator = torch.Generator().manual_seed(stage_seed(seed, T + 1))
        draws = torch.empty(T, M, dtype=torch.float64, device="cpu")
        draws.exponential_(generator=generator)
        return draws / draws.sum(1, keepdim=True)  # Dirichlet(1)


NominalKind = Literal["uniform", "random"]
NOMINALS: dict[NominalKind, Nominal] = {"uniform": UniformNominal(), "random": RandomNominal()}
"""The nominals by the word that a recipe and `TOW(nominal=...)` give them."""
