"""The weights that planning starts from."""

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from towpath.weighters.seeds import stage_seed


class Nominal(Protocol):
    """Where a plan starts: it ends with weights that are no worse."""

    def actions(self, T: int, M: int, seed: int) -> Tensor:
        """Weights of T mini-batches of M tasks `[T, M]`, float64, on the CPU."""
        ...


@dataclass(frozen=True)
class UniformNominal:
    """All tasks weigh the same."""

    def actions(self, T: int, M: int, seed: int) -> Tensor:  # noqa: ARG002
        """1/M everywhere."""
        return torch.full((T, M), 1.0 / M, dtype=torch.float64, device="cpu")


@dataclass(frozen=True)
class RandomNominal:
    """Each mini-batch has weights of its own from Dirichlet(1)."""

    def actions(self, T: int, M: int, seed: int) -> Tensor:
        """Draws that depend on the plan's seed only."""
        generator = torch.Generator().manual_seed(stage_seed(seed, T + 1))
        draws = torch.empty(T, M, dtype=torch.float64, device="cpu")
        draws.exponential_(generator=generator)
        return draws / draws.sum(1, keepdim=True)  # Dirichlet(1)


NominalKind = Literal["uniform", "random"]
NOMINALS: dict[NominalKind, Nominal] = {"uniform": UniformNominal(), "random": RandomNominal()}
"""The nominals by the word that a recipe and `TOW(nominal=...)` give them."""
