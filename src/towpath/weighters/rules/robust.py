"""Weighters for the worst case: the hardest tail, and the hardest group, by two kinds of ascent."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from towpath.control.quadratic import project_simplex
from towpath.validation import at_least, between
from towpath.weighters.card import Card
from towpath.weighters.rules.groups import each, groups_of, shared, sums
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter

LARGEST_EXPONENT = 600.0
"""largest exponent: its exp is a float that can still be multiplied"""
SMALLEST_SHARE = 1e-200
"""least share of a group, so that one that fell far behind can recover"""


@dataclass(frozen=True)
class CVaR(MiniBatchWeighter):
    """Conditional value at risk (Rockafellar and Uryasev 2000): train on the hardest tail.

    `u = argmax u.l` over the simplex with `u_i <= 1 / (tail M)`: the tail M hardest tasks share the
    weight equally (the task at the edge gets what is left).

    Args:
        tail: fraction of the tasks that make up the tail, above 0 and at most 1.
    """

    card = Card(
        formula="`argmax u.l` with `u_i <= 1/(tail M)`, sum 1",
        assumes="the hardest tasks decide how good a model is",
        costs="nothing",
        fails="where they are hard because their labels are wrong",
        reference="Rockafellar and Uryasev 2000",
    )

    tail: float = 0.5

    def __post_init__(self) -> None:
        between("CVaR", "tail", self.tail, 0.0, 1.0)
        if self.tail == 0:
            raise ValueError("CVaR found tail=0; expected a fraction above 0, such as 0.5.")

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Give the hardest tasks the largest weight allowed until the weights sum to 1."""
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

    card = Card(
        formula="`q_g` multiplied by `exp(0.01 * its mean loss)` whenever the group appears; "
        "shared by its tasks, sum 1",
        assumes="groups; the test may be any mix of them, the worst one included",
        costs="nothing",
        fails="where a group is hard because its labels are wrong: it gets all the weight",
        reference="Sagawa et al. 2020",
    )

    rate: float = 0.01

    def __post_init__(self) -> None:
        at_least("GroupDRO", "rate", self.rate, 0.0)

    def initial_state(self) -> Memory:
        """Return a state that has no group yet."""
        return {"q": {}}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Raise the groups of high loss, then weigh each task by its group."""
        groups = groups_of(batch)
        before = state["q"]
        fresh = sum(before.values()) / len(before) if before else 1.0
        counts = {group: groups.count(group) for group in groups}
        totals = sums(batch.losses, groups)
        raised = {group: self.rate * total / counts[group] for group, total in totals.items()}
        # only ratios of q matter, so every exponent is lowered until exp does not overflow
        beyond = max(0.0, max(raised.values()) - LARGEST_EXPONENT)
        q = {group: value * math.exp(-beyond) for group, value in before.items()}
        for group, exponent in raised.items():
            q[group] = before.get(group, fresh) * math.exp(exponent - beyond)
        total = sum(q.values())
        q = {group: max(value / total, SMALLEST_SHARE) for group, value in q.items()}
        shares = shared(q, groups)
        return shares / shares.sum(), {"q": q}


@dataclass(frozen=True)
class TRMAML(MiniBatchWeighter):
    """TR-MAML (Collins, Mokhtari, Shakkottai 2020): gradient ascent on a weight for each group.

    p lies on the simplex over the C groups seen so far. A task of group g weighs `p_g C / M`, which
    is not normalised; then `p <- Proj(p + rate * the sum of its tasks' losses)`. A group that is
    new enters at the mean of the others, and p is normalised. Group DRO differs in its ascent
    (exponentiated) and in its weights (normalised).

    Args:
        rate: step size of the ascent; the paper has 2e-5 on Omniglot, 1.6e-5 on mini-ImageNet.
        weighted: add each task's loss times its weight, as the authors' code does, where the
            gradient is the loss itself.
    """

    card = Card(
        formula="`u_i = p_g C / M`, not normalised; `p <- Proj_simplex(p + rate * sum of the "
        "group's losses)`, C groups seen",
        assumes="groups; the test may be any mix of them, the worst one included",
        costs="nothing",
        fails="where a group is hard because its labels are wrong: it gets the most weight",
        reference="Collins, Mokhtari, Shakkottai 2020",
    )

    rate: float = 2e-5
    weighted: bool = False

    def __post_init__(self) -> None:
        at_least("TRMAML", "rate", self.rate, 0.0)

    def initial_state(self) -> Memory:
        """Return a state that has no group yet."""
        return {"p": {}}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the groups' current weights, and take a step of ascent on them."""
        groups = groups_of(batch)
        p = dict(state["p"])
        for group in groups:
            p.setdefault(group, sum(p.values()) / len(p) if p else 1.0)
        total = sum(p.values())
        p = {group: value / total for group, value in p.items()}
        u = each(p, groups) * (len(p) / len(batch))
        losses = batch.losses.double().cpu()
        gained = sums(u * losses if self.weighted else losses, groups)
        raised = np.array([[value + self.rate * gained.get(g, 0.0) for g, value in p.items()]])
        projected = project_simplex(raised)[0].tolist()
        return u, {"p": dict(zip(p, projected, strict=True))}
