"""The quadratic prior `beta/2 |u - mu|^2` of each action, which keeps the problem bounded.

Its mean mu is one number for all tasks, or one for each task of each mini-batch: a plan about a
rule's weights has these as its mean.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class ActionPrior:
    """`beta/2 |u - mu|^2` for each mini-batch; `scales` multiply beta mini-batch by mini-batch."""

    beta: float
    mu: float | Tensor
    """one mean for all, or `[T, M]`, float64"""
    scales: tuple[float, ...] | None = None

    def precisions(self, T: int) -> Tensor:
        """Return the precision beta of each mini-batch `[T]`, in float64."""
        ones = (1.0,) * T
        return self.beta * torch.tensor(self.scales or ones, dtype=torch.float64, device="cpu")

    def mean(self, t: int) -> float | Tensor:
        """Return the mean of the actions of mini-batch t: one number, or one for each task."""
        return self.mu[t] if isinstance(self.mu, Tensor) else self.mu

    def from_mean(self, actions: Tensor) -> Tensor:
        """Return the deviations `[T, M]` of the actions from the mean, in float64."""
        mu = self.mu.to(actions.device) if isinstance(self.mu, Tensor) else self.mu
        return actions.double() - mu

    def cost(self, actions: Tensor) -> float:
        """Return the prior's share of the cost, summed over all mini-batches in float64."""
        squares = self.from_mean(actions).square().sum(1).cpu()
        return 0.5 * float(self.precisions(len(actions)) @ squares)

    def gradient(self, actions: Tensor) -> Tensor:
        """Return the gradient `c_u [T, M]` of the prior's cost, in float64."""
        precisions = self.precisions(len(actions)).to(actions.device)
        return precisions[:, None] * self.from_mean(actions)
