"""Weights that depend on no task: equal ones, or random ones as a control."""

from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.validation import Seed, at_least
from towpath.weighters.card import Card
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.seeds import stage_seed


@dataclass(frozen=True)
class Uniform(MiniBatchWeighter):
    """Weights 1/M: what everybody does, and the baseline of every comparison."""

    card = Card(
        formula="`u_i = 1/M`",
        assumes="all tasks are worth the same",
        costs="nothing",
        fails="where tasks are wrong, or drawn from another mix than the test's",
    )

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the weights 1/M for each of the M tasks."""
        return torch.full_like(batch.losses, 1.0 / len(batch)), state


@dataclass(frozen=True)
class Random(MiniBatchWeighter):
    """Weights drawn from a Dirichlet distribution, a new draw each mini-batch.

    Args:
        concentration: 1 is uniform on the simplex; larger is closer to 1/M.
        seed: the draws; the n-th mini-batch of a training always gets the n-th draw.
    """

    card = Card(
        formula="a draw from Dirichlet(concentration) for each mini-batch, whatever the losses",
        assumes="nothing: the control of a comparison",
        costs="nothing",
        fails="always a little: it shows what the scatter of weights alone costs",
        reference="a control",
    )

    concentration: float = 1.0
    seed: Seed = 0

    def __post_init__(self) -> None:
        at_least("Random", "concentration", self.concentration, 0.0)
        if self.concentration == 0:
            raise ValueError("Random found concentration=0; expected a number above 0, such as 1.")

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Draw weights that do not depend on the losses."""
        generator = torch.Generator().manual_seed(stage_seed(self.seed, batch.step))
        shape = torch.full((len(batch),), self.concentration, dtype=torch.float64, device="cpu")
        gamma = torch._standard_gamma(shape, generator=generator)
        return gamma / gamma.sum(), state
