"""The quadratic prior `beta/2 |u - mu|^2` of each action, which keeps the problem bounded."""

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
        """Return the precision beta of each mini-batch `[T]`, in float64."""
        ones = (1.0,) * T
        return self.beta * torch.tensor(self.scales or ones, dtype=torch.float64, device="cpu")

    def cost(self, actions: Tensor) -> float:
        """Return the prior's share of the cost, summed over all mini-batches in float64."""
        squares = (actions.double() - self.mu).square().sum(1).cpu()
        return 0.5 * float(self.precisions(len(actions)) @ squares)

    def gradient(self, actions: Tensor) -> Tensor:
        """Return the gradient `c_u [T, M]` of the prior's cost, in float64."""
        precisions = self.precisions(len(actions)).to(actions.device)
        return precisions[:, None] * (actions.double() - self.mu)
