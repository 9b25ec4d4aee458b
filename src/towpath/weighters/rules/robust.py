"""Weighters for the worst case: the hardest tail, and the hardest group."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from towpath.validation import at_least, between
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter

LARGEST_EXPONENT = 600.0
"""exp of it is a float with room to be multiplied"""
SMALLEST_SHARE = 1e-200
"""of a group, so that one which was left far behind can come back"""


@dataclass(frozen=True)
class CVaR(MiniBatchWeighter):
    """Conditional value at risk (Rockafellar and Uryasev 2000): train on the hardest tail.

    `u = argmax u.l` over the simplex with `u_i <= 1 / (tail M)`: the tail M hardest tasks share the
    weight equally (the task at the edge gets what is left).

    Args:
        tail: fraction of the tasks that make up the tail, above 0 and at most 1.
    """

    tail: float = 0.5

    def __post_init__(self) -> None:
        between("CVaR", "tail", self.tail, 0.0, 1.0)
        if self.tail == 0:
            raise ValueError("CVaR found tail=0; expected a fraction above 0, such as 0.5.")

    def weights(self, batch: MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        """The cap for the hardest tasks until the weights sum to 1."""
        losses = batch.losses
        cap = min(1.0, 1.0 / (self.tail * len(losses)))
        order = torch.argsort(losses.double(), descending=True, stable=True)
        before = cap * torch.arange(len(losses), dtype=torch.float64, device=losses.device)
        u = torch.zeros(len(losses), dtype=torch.float64, device=losses.device)
        u[order] = (1.0 - before).clamp(0.0, cap)
        return u, state


@dataclass(frozen=True)
class GroupDRO(MiniBatchWeighter):
    """Group distributionally robust optimisation (Sagawa et al. 2020), online.

    Every group (`info["group"]`) has a weight q, multiplied by `exp(rate * mean loss)` whenever the
    group appears and normalised over the groups seen so far; the tasks of a mini-batch share their
    group's q, normalised to sum 1.

    Args:
        rate: step size of the exponentiated gradient (0.01 in the paper).
    """

    rate: float = 0.01

    def __post_init__(self) -> None:
        at_least("GroupDRO", "rate", self.rate, 0.0)

    def initial_state(self) -> dict[str, Any]:
        """No group seen yet."""
        return {"q": {}}

    def weights(self, batch: MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        """Raise the groups that do badly, then weigh by group."""
        groups = [str(info.get("group", "")) for info in batch.infos]
        values = batch.losses.double().tolist()
        before = state["q"]
        fresh = sum(before.values()) / len(before) if before else 1.0
        raised = {}
        for group in dict.fromkeys(groups):
            own = [v for v, g in zip(values, groups, strict=True) if g == group]
            raised[group] = self.rate * sum(own) / len(own)
        # only ratios of q matter: what exp cannot hold is taken off the exponent of every group
        beyond = max(0.0, max(raised.values()) - LARGEST_EXPONENT)
        q = {group: value * math.exp(-beyond) for group, value in before.items()}
        for group, exponent in raised.items():
            q[group] = before.get(group, fresh) * math.exp(exponent - beyond)
        total = sum(q.values())
        q = {group: max(value / total, SMALLEST_SHARE) for group, value in q.items()}
        shares = torch.tensor(
            [q[g] / groups.count(g) for g in groups],
            dtype=torch.float64,
            device=batch.losses.device,
        )
        return shares / shares.sum(), {"q": q}
