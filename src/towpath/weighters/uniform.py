"""Every task weighs the same, and random weights as a control."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from towpath.validation import at_least
from towpath.weighters.minibatch import MiniBatchWeighter
from towpath.weighters.window import stage_seed


@dataclass(frozen=True)
class Uniform(MiniBatchWeighter):
    """Weights 1/M: what everybody does, and the baseline of every comparison."""

    uses_gradients = False

    def weights(
        self,
        losses: Tensor,
        gradients: Tensor,  # noqa: ARG002
        infos: Sequence[Mapping[str, Any]],  # noqa: ARG002
        state: dict[str, Any],
    ) -> tuple[Tensor, dict[str, Any]]:
        """1/M for each of the M tasks."""
        return torch.full_like(losses, 1.0 / len(losses)), state


@dataclass(frozen=True)
class Random(MiniBatchWeighter):
    """Weights drawn from a Dirichlet distribution, a new draw each mini-batch.

    Args:
        concentration: 1 is uniform on the simplex; larger is closer to 1/M.
        seed: the draws; the n-th mini-batch of a training always gets the n-th draw.
    """

    uses_gradients = False

    concentration: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        at_least("Random", "concentration", self.concentration, 0.0)
        if self.concentration == 0:
            raise ValueError("Random found concentration=0; expected a number above 0, such as 1.")

    def initial_state(self) -> dict[str, Any]:
        """Number of draws taken."""
        return {"draws": 0}

    def weights(
        self,
        losses: Tensor,
        gradients: Tensor,  # noqa: ARG002
        infos: Sequence[Mapping[str, Any]],  # noqa: ARG002
        state: dict[str, Any],
    ) -> tuple[Tensor, dict[str, Any]]:
        """A draw that does not look at the losses."""
        generator = torch.Generator().manual_seed(stage_seed(self.seed, state["draws"]))
        shape = torch.full((len(losses),), self.concentration, dtype=torch.float64, device="cpu")
        gamma = torch._standard_gamma(shape, generator=generator)
        return gamma / gamma.sum(), {"draws": state["draws"] + 1}
