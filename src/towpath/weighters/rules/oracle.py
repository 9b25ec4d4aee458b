"""The oracle: what a rule could do at most that knew which labels are wrong."""

from dataclasses import dataclass

from torch import Tensor

from towpath.weighters.card import Card
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter


@dataclass(frozen=True)
class Oracle(MiniBatchWeighter):
    """Knows which tasks were mislabelled on purpose: the best that dropping them can do.

    The clean tasks share the weight equally; a mini-batch without a clean task weighs nothing.
    """

    card = Card(
        formula="equal on the tasks that were not mislabelled on purpose, 0 on the others",
        assumes="an experiment that made the labels wrong itself: a bound, not a method",
        costs="nothing",
        fails="where nobody knows which tasks are wrong, which is everywhere else",
        reference="a bound for experiments",
    )

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Share the weight equally among the tasks that are not marked as mislabelled."""
        marked = [0.0 if info.get("mislabelled") else 1.0 for info in batch.infos]
        clean = batch.losses.new_tensor(marked)
        return clean / clean.sum().clamp_min(1.0), state
