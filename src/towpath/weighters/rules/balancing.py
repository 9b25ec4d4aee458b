"""Rules of multi-task learning that balance groups of tasks: by their pace, and by their noise.

A group's loss is the mean over its tasks in the mini-batch. The papers see every task in every
step; here a group counts when it appears, and what it remembers is of its last appearances.
"""

import math
from dataclasses import dataclass

from torch import Tensor

from towpath.dynamics import Adam
from towpath.validation import at_least
from towpath.weighters.card import Card
from towpath.weighters.rules.groups import each, groups_of, means, shared
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.trained import column, step_groups, with_groups

SMALLEST_LOSS = 1e-8
"""below it a loss counts as this: its logarithm and its inverse stay finite"""
LARGEST_EXPONENT = 50.0
"""largest exponent of an uncertainty's weight, which then stays finite in float32"""


@dataclass(frozen=True)
class FAMO(MiniBatchWeighter):
    """FAMO (Liu et al. 2023): all groups' losses shall fall at the same relative pace.

    With `z = softmax(xi)` over the groups seen, `u_i` is proportional to `z_g / l_i` and sums to 1:
    the gradient of a weighted logarithm of the loss. xi follows the gradient
    `J_softmax' (log l_before - log l_now)`, so that a group that fell faster than the others loses
    weight. The authors evaluate the same mini-batch again after the step; here the next appearance
    of the group serves, and a group that is absent or new counts as one that did not move.

    Args:
        rate: learning rate of Adam, which trains xi.
        weight_decay: weight decay of xi.
    """

    card = Card(
        formula="`u_i` proportional to `z_g / l_i`, `z = softmax(xi)`; xi by Adam on "
        "`J_softmax' (log l_before - log l_now)`",
        assumes="groups that should all improve at the same relative pace",
        costs="nothing",
        fails="where a group cannot improve (wrong labels, noise): it gains weight for ever",
        reference="Liu et al. 2023",
    )

    rate: float = 0.025
    weight_decay: float = 0.01

    def __post_init__(self) -> None:
        at_least("FAMO", "rate", self.rate, 0.0)
        at_least("FAMO", "weight_decay", self.weight_decay, 0.0)

    def initial_state(self) -> Memory:
        """Return a state that has no group yet."""
        return {"xi": {}, "loss": {}}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Train xi on the change of the groups' losses since they last appeared, then weigh."""
        groups = groups_of(batch)
        losses = batch.losses.double().cpu().clamp_min(SMALLEST_LOSS)
        now, before = means(losses, groups), state["loss"]
        xi = state["xi"]
        if any(group in before for group in now):
            moved = column([math.log(before[g] / now[g]) if g in now else 0.0 for g in xi])
            z = column([row[0] for row in xi.values()]).softmax(0)
            gradient = z * (moved - z @ moved)
            adam = Adam(self.rate, weight_decay=self.weight_decay)
            xi = step_groups(adam, xi, dict(zip(xi, gradient.tolist(), strict=True)))
        xi = with_groups(xi, groups, 0.0)
        z = each({group: row[0] for group, row in xi.items()}, groups)
        u = (z - losses.log()).softmax(0)  # only ratios of z matter
        return u, {"xi": xi, "loss": {**before, **now}}


@dataclass(frozen=True)
class DWA(MiniBatchWeighter):
    """Dynamic weight average (Liu, Johns, Davison 2019): more weight where the loss falls slowly.

    A group's weight is `softmax(r / temperature)` over the groups of the mini-batch, r the ratio of
    its mean losses at its last two appearances (1 until there were two); its tasks share it.

    Args:
        temperature: larger is closer to equal weights of groups.
    """

    card = Card(
        formula="groups `softmax(r / 2)`, r the ratio of the group's last two mean losses; shared "
        "by its tasks",
        assumes="groups whose pace is measured well by two mini-batches",
        costs="nothing",
        fails="where losses scatter from one mini-batch to the next: r is then mostly chance",
        reference="Liu, Johns, Davison 2019",
    )

    temperature: float = 2.0

    def __post_init__(self) -> None:
        at_least("DWA", "temperature", self.temperature, 0.0)
        if self.temperature == 0:
            raise ValueError("DWA found temperature=0; expected a number above 0, such as 2.")

    def initial_state(self) -> Memory:
        """Return a state that has no group yet."""
        return {"last": {}}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the softmax of the loss ratios known before this mini-batch."""
        groups = groups_of(batch)
        last: dict[str, list[float]] = state["last"]
        now = means(batch.losses.double().cpu().clamp_min(SMALLEST_LOSS), groups)
        ratios = {g: last[g][1] / last[g][0] if len(last.get(g, ())) == 2 else 1.0 for g in now}
        chances = (column(list(ratios.values())) / self.temperature).softmax(0).tolist()
        u = shared(dict(zip(ratios, chances, strict=True)), groups)
        return u, {"last": {**last, **{g: [*last.get(g, []), now[g]][-2:] for g in now}}}


@dataclass(frozen=True)
class Uncertainty(MiniBatchWeighter):
    """Homoscedastic uncertainty (Kendall, Gal, Cipolla 2018): less weight to high losses.

    Each group has a log variance s, trained with the model on `exp(-s) l + s`: a task weighs
    `exp(-s_g) / M`, which is not normalised and starts at 1/M, and Adam steps s on
    `1 - exp(-s_g) l_g`, `l_g` the mean loss of the group's tasks in the mini-batch.

    Args:
        rate: learning rate of Adam, which trains s.
    """

    card = Card(
        formula="`u_i = exp(-s_g) / M`, not normalised; s, start 0, by Adam on `exp(-s_g) l_g + "
        "s_g`",
        assumes="groups; a loss that stays high is noise",
        costs="nothing",
        fails="where hard groups are what the test asks for; slow: s moves by 0.001 a step",
        reference="Kendall, Gal, Cipolla 2018",
    )

    rate: float = 1e-3

    def __post_init__(self) -> None:
        at_least("Uncertainty", "rate", self.rate, 0.0)

    def initial_state(self) -> Memory:
        """Return a state that has no group yet."""
        return {"s": {}}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the weights at the current s, and train s by one step."""
        groups = groups_of(batch)
        s = with_groups(state["s"], groups, 0.0)
        scale = {g: math.exp(min(-row[0], LARGEST_EXPONENT)) for g, row in s.items()}
        now = means(batch.losses, groups)
        gradients = {group: 1.0 - scale[group] * loss for group, loss in now.items()}
        u = each(scale, groups) / len(batch)
        return u, {"s": step_groups(Adam(self.rate), s, gradients)}
