"""Rules that take a trial step, evaluate the targets there, and correct the weights of the step.

`s_i` is the influence of a task at that step (`towpath.weighters.rules.targets`): how much one more
unit of its weight lowers the targets' loss.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from towpath.control.quadratic import project_simplex
from towpath.dynamics import Adam
from towpath.validation import Seed, at_least
from towpath.weighters.card import Card, Point
from towpath.weighters.rules.clusters import clustered, nearest
from towpath.weighters.rules.groups import each, groups_of, sums
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.trained import step_groups, with_groups

UNKNOWN = ""
"""the kind of a task before there are clusters"""
LARGEST = 0.5
"""largest amount that NestedMAML adds to a weight, before its rate"""
RADIUS = 0.01
"""how far from x Auto-Lambda's authors evaluate the losses for a difference"""


@dataclass(frozen=True)
class MWLMAML(MiniBatchWeighter):
    """MWL-MAML (Xu et al. 2021): a few steps of projected ascent on one mini-batch's weights.

    Reconstructed from the paper's abstract. From `w = 1/M`, three times: look ahead with w, then
    `w <- Proj(w + eta s)` on the simplex, with `eta = 1 / (M max|s|)`.

    Args:
        rounds: number of look-aheads.
    """

    wants_targets = True
    target_evaluations: ClassVar[float] = 3.0
    card = Card(
        formula="from `1/M`, three times `w <- Proj_simplex(w + s(w) / (M max\\|s\\|))`, s at the "
        "look-ahead with w (reconstructed)",
        assumes="targets whose loss after one step says what is good in the long run",
        costs="three evaluations of the targets",
        fails="with few targets: the weights follow their noise, with nothing that shrinks them",
        reference="Xu et al. 2021",
        point=Point("1 step", "the optimiser's", "simplex", "none"),
    )

    rounds: int = 3

    def __post_init__(self) -> None:
        at_least("MWLMAML", "rounds", self.rounds, 0)

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the weights after `rounds` steps of projected ascent."""
        M = len(batch)
        w = np.full(M, 1.0 / M)
        for _ in range(self.rounds):
            s = batch.targets.influence(torch.from_numpy(w)).double().cpu().numpy()
            largest = float(np.abs(s).max())
            if largest == 0.0:  # no target, or none that any task moves
                break
            w = project_simplex((w + s / (M * largest))[None])[0]
        return torch.from_numpy(w), state


@dataclass(frozen=True)
class AutoLambda(MiniBatchWeighter):
    """Auto-Lambda (Liu et al. 2022): a weight for each group, trained through the look-ahead.

    A task weighs `lambda_g`, which is not normalised, starts at 0.1 and stays at or above 0. Before
    the step Adam moves lambda on `-(sum of the group's s_i)`, the exact derivative of the targets'
    loss after the optimiser's own step.

    Args:
        rate: learning rate of Adam, which trains lambda.
        start: lambda of a group that is new.
        differences: what the authors compute: a step of SGD (with the optimiser's momentum, if it
            is SGD), and differences of the tasks' losses at `x +- 0.01 v/|v|` for the derivative.
    """

    wants_targets = True
    card = Card(
        formula="`u_i = lambda_g`, not normalised, start 0.1; Adam on `d/d lambda_g = -sum of the "
        "group's s_i` at the look-ahead",
        assumes="groups; targets",
        costs="one evaluation of the targets",
        fails="slowly: lambda moves by 0.0001 a step; without groups it is uniform",
        reference="Liu et al. 2022",
        point=Point("1 step", "the optimiser's", "`u >= 0`, by group", "slow Adam"),
    )

    rate: float = 1e-4
    start: float = 0.1
    differences: bool = False

    def __post_init__(self) -> None:
        at_least("AutoLambda", "rate", self.rate, 0.0)
        at_least("AutoLambda", "start", self.start, 0.0)

    def initial_state(self) -> Memory:
        """Return a state that has no group yet."""
        return {"lambda": {}}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Train lambda by one step, then return the weights that it gives."""
        groups = groups_of(batch)
        held = with_groups(state["lambda"], groups, self.start)
        u = each({group: row[0] for group, row in held.items()}, groups)
        s = self._by_differences(batch, u) if self.differences else batch.targets.influence(u)
        gradients = {group: -total for group, total in sums(s, groups).items()}
        moved = step_groups(Adam(self.rate), held, gradients)
        moved = {group: [max(0.0, row[0]), *row[1:]] for group, row in moved.items()}
        return each({group: row[0] for group, row in moved.items()}, groups), {"lambda": moved}

    def _by_differences(self, batch: MiniBatch, u: Tensor) -> Tensor:
        """Return `lr g_i . v`, estimated from the tasks' losses at two points."""
        targets = batch.targets
        direction = targets.rates * targets.ahead(u, sgd=not targets.by_sgd).gradient
        length = float(direction.norm())
        if length == 0.0:
            return torch.zeros_like(batch.losses)
        moved = direction * (RADIUS / length)
        difference = batch.losses_at(moved) - batch.losses_at(-moved)
        return difference * (length / (2 * RADIUS))


@dataclass(frozen=True)
class Nested(MiniBatchWeighter):
    """NestedMAML (Killamsetty et al. 2022): a lasting weight for each kind of task.

    The kinds are the groups. Tasks without a group fall into 200 clusters by their classes: a
    seeded k-means of the first 1,000 such tasks, and equal weights until then. A task weighs
    `w_c / M`, which is not normalised. After a virtual step of plain SGD with these weights,
    `w_c <- max(0, w_c + 0.01 clip(lr g_c . v/n, -0.5, 0.5))`, `g_c` the sum over the kind's tasks
    in the mini-batch and `v/n` the targets' mean gradient; training steps with the new weights.

    Args:
        rate: step size of the weights.
        clusters: the number of clusters; the weights start at one over it.
        first: number of tasks that are clustered.
        scale_free: divide `g_c . v` by its largest magnitude in the mini-batch in place of the
            learning rate, and start at 1/M: the rule then moves as fast whatever the gradients.
        seed: seed of the k-means.
    """

    wants_targets = True
    card = Card(
        formula="`u_i = w_c / M`, not normalised; `w_c <- max(0, w_c + 0.01 clip(lr g_c . v/n, "
        "-0.5, 0.5))` at virtual SGD, c a group or one of 200 clusters",
        assumes="kinds of tasks (groups, or similar classes) that are good or bad as a whole",
        costs="one evaluation of the targets; a k-means once",
        fails="with a small learning rate, where `lr g . v` is so small that nothing moves "
        "(`scale_free`)",
        reference="Killamsetty et al. 2022",
        point=Point("1 step", "plain SGD", "`u >= 0`, by kind", "slow steps"),
    )

    rate: float = 0.01
    clusters: int = 200
    first: int = 1000
    scale_free: bool = False
    seed: Seed = 0

    def __post_init__(self) -> None:
        at_least("Nested", "rate", self.rate, 0.0)
        at_least("Nested", "clusters", self.clusters, 1)
        at_least("Nested", "first", self.first, self.clusters)

    def initial_state(self) -> Memory:
        """Return a state without changed weights, tasks or clusters."""
        return {"w": {}, "seen": [], "centres": []}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Find the kinds of the tasks, train their weights by one step, and return them."""
        M = len(batch)
        kinds, state = self._kinds(batch, state)
        start = 1.0 / M if self.scale_free else 1.0 / self.clusters
        w = {kind: state["w"].get(kind, start) for kind in kinds}
        if set(kinds) != {UNKNOWN}:
            s = batch.targets.influence(each(w, kinds) / M, sgd=True)
            moved = sums(s, kinds)
            largest = max(abs(value) for value in moved.values())
            by = largest if self.scale_free else max(1, len(batch.targets))
            for kind, value in moved.items() if by > 0 else ():
                step = min(max(value / by, -LARGEST), LARGEST)
                w[kind] = max(0.0, w[kind] + self.rate * step)
        w[UNKNOWN] = start
        kept = {**state["w"], **{kind: value for kind, value in w.items() if kind != UNKNOWN}}
        return each(w, kinds) / M, {**state, "w": kept}

    def _kinds(self, batch: MiniBatch, state: Memory) -> tuple[list[str], Memory]:
        """Return the kind of each task, and the state with what was learnt about kinds."""
        classes = [
            None if info.get("group") else sorted({str(c) for c in info.get("classes", ())})
            for info in batch.infos
        ]
        groups = [f"group {name}" for name in groups_of(batch)]
        centres = state["centres"]
        kinds = [
            group if own is None else (f"cluster {nearest(centres, own)}" if centres else UNKNOWN)
            for group, own in zip(groups, classes, strict=True)
        ]
        if centres:
            return kinds, state
        seen = [*state["seen"], *(own for own in classes if own is not None)]
        if len(seen) >= self.first:
            centres, seen = clustered(seen[: self.first], self.clusters, self.seed), []
        return kinds, {**state, "centres": centres, "seen": seen}
