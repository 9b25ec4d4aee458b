"""The prior of the actions: `beta/2 |u - mu|^2` for each stage, which keeps the problem bounded."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class ActionPrior:
    """`beta/2 |u - mu|^2` for each mini-batch; `scales` multiply beta mini-batch by mini-batch."""

    beta: float
    mu: float
    scales: tuple[float, ...] | None = None

    def precisions(self, T: int) -> Tensor:
        """beta of each mini-batch `[T]`, float64."""
        ones = (1.0,) * T
        return self.beta * torch.tensor(self.scales or ones, dtype=torch.float64, device="cpu")

    def cost(self, actions: Tensor) -> float:
        """The prior's share of the cost, summed over all mini-batches in float64."""
        squares = (actions.double() - self.mu).square().sum(1).cpu()
        return 0.5 * float(self.precisions(len(actions)) @ squares)

    def gradient(self, actions: Tensor) -> Tensor:
        """`c_u [T, M]`, float64."""
        precisions = self.precisions(len(actions)).to(actions.device)
        return precisions[:, None] * (actions.double() - self.mu)
