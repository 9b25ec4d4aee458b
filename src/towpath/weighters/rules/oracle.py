"""The oracle: what a rule could do at most that knew which labels are wrong."""

from dataclasses import dataclass

from torch import Tensor

from towpath.data.noise.damage import damage_of
from towpath.weighters.card import Card
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter


@dataclass(frozen=True)
class Oracle(MiniBatchWeighter):
    """Knows which tasks were made wrong on purpose: the best that dropping them can do.

    Tasks that are off target or whose labels were permuted or flipped get nothing, and the others
    share the weight equally; a mini-batch without a clean task weighs nothing. Noise that sits in
    the images or classes of the pool leaves hardly any task clean: there a task weighs in
    proportion to its share of right labels.
    """

    card = Card(
        formula="in proportion to 1 for a clean task, 0 for one that is mislabelled or off target "
        "on purpose, the share of right labels where noise is in the pool's images",
        assumes="an experiment that made the tasks wrong itself: a bound, not a method",
        costs="nothing",
        fails="where nobody knows which tasks are wrong, which is everywhere else",
        reference="a bound for experiments",
    )

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Share the weight among the tasks by how right they are known to be."""
        clean = batch.losses.new_tensor([1.0 - damage_of(info) for info in batch.infos])
        total = clean.sum()
        return (clean / total if total > 0 else clean), state
