"""`above-chance`: only the tasks that are classified better than by guessing.

It is what one would try first against labels without meaning, in two lines of a training loop;
`evidence` asks the same question of the whole output instead of the number of hits.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from towpath.data.episode import ROUNDING, Episode
from towpath.validation import at_least
from towpath.weighters.card import Card
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.seen import Seen
from towpath.weighters.rules.selection import equal


@dataclass(frozen=True)
class AboveChance(MiniBatchWeighter):
    """Equal weights for the tasks whose query accuracy is above chance; the others get 0.

    A task of C classes and n query samples is kept if its accuracy is at least `p + margin *
    sqrt(p (1 - p) / n)`, with `p = 1/C`. Where no task is, all are kept, and so is always a task
    without classes or one that is no `tp.Episode`; where all are such, the status of a plan says
    so, and `Evidence` is the rule to use.

    Args:
        margin: how many standard deviations of a guess the accuracy must be above it.
    """

    card = Card(
        formula="tasks with a query accuracy of at least `p + sqrt(p (1 - p) / n)`, `p = 1/C`, "
        "share the weight",
        assumes="right tasks are classified better than by guessing, from the start",
        costs="nothing",
        fails="where right tasks are hard: it drops those that are at chance by bad luck; about a "
        "fifth of the wrong ones are above it by good luck",
        reference="folklore",
    )

    needs_classes = True
    margin: float = 1.0

    def __post_init__(self) -> None:
        at_least("AboveChance", "margin", self.margin, 0.0)

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Share the weight among the tasks that are above chance."""
        accuracies = batch.accuracies.tolist()
        needed = [_needed(task, self.margin) for task in batch.tasks] or [math.nan] * len(batch)
        low = [a < least - ROUNDING for a, least in zip(accuracies, needed, strict=True)]
        if all(low):
            return equal(batch), state
        kept = ~torch.tensor(low, device=batch.losses.device)
        return kept.to(batch.losses) / kept.sum(), state

    def can_judge(self, seen: Seen) -> bool:
        """Return whether some task is one of classes whose chance is known."""
        known = seen.said.accuracies is not None
        return known and not all(math.isnan(_needed(task, self.margin)) for task in seen.tasks)


def _needed(task: Any, margin: float) -> float:
    """Return the least accuracy that is above chance; NaN, which none is below, if unknown."""
    if not isinstance(task, Episode) or task.support_y.is_floating_point():
        return math.nan
    p = 1.0 / task.ways
    return p + margin * math.sqrt(p * (1.0 - p) / len(task.query_y))
