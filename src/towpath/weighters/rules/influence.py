"""Rules that weigh a task by its effect on the targets, one step ahead.

`v` is the gradient of the targets' summed loss, `g_i` a task's gradient and `s_i` its influence in
the optimiser's own geometry (`towpath.weighters.rules.targets`).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.validation import Seed, at_least, between
from towpath.weighters.card import Card, Point
from towpath.weighters.rules.groups import groups_of, means, shared
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.selection import share_of
from towpath.weighters.seeds import stage_seed


@dataclass(frozen=True)
class L2RW(MiniBatchWeighter):
    """Learning to reweight (Ren et al. 2018): tasks whose gradient points the targets' way.

    From weights of 0 the authors take one virtual step of plain SGD, so that `u_i` is in proportion
    to `max(0, g_i . v)` at the current parameters, normalised to sum 1. Where no task agrees with
    the targets all weights are 0 and the optimiser steps on a zero gradient, as in the original;
    the records count these mini-batches (`weightless`).
    """

    wants_targets = True
    card = Card(
        formula="`u_i` proportional to `max(0, g_i . v)`; all 0 where no task agrees with the "
        "targets",
        assumes="targets; tasks differ from one to the next and not by kind",
        costs="one evaluation of the targets",
        fails="with few targets: the weights follow their noise and scatter from task to task",
        reference="Ren et al. 2018",
        point=Point("1 step, to first order", "plain SGD", "clamped at 0, normalised", "none"),
    )

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Clamp the inner products with the targets' gradient at 0 and normalise them."""
        inner = batch.along(batch.targets.gradient).double().clamp_min(0.0)
        total = inner.sum()
        return (inner / total if float(total) > 0 else inner), state


@dataclass(frozen=True)
class OPUS(MiniBatchWeighter):
    """OPUS (Wang et al. 2026): a softmax of the influence in the optimiser's own geometry.

    `u = softmax(s / (tau sd(s)))`, sd the standard deviation over the mini-batch; equal
    weights where all influences are the same.

    Args:
        tau: the temperature; larger is closer to equal weights.
        sample: None for the weights above, or the share of the tasks (rounded up) that is drawn
            with these chances, without replacement; those drawn share the weight equally.
        seed: the draws; the n-th mini-batch of a training always gets the n-th draw.
    """

    wants_targets = True
    card = Card(
        formula="`softmax(s / (tau sd(s)))`, `tau = 1`; `sample=0.5` draws half of the tasks with "
        "these chances",
        assumes="targets; the optimiser's step says which movement counts",
        costs="one evaluation of the targets",
        fails="where all influences are alike: dividing by their spread makes noise as large as "
        "signal",
        reference="Wang et al. 2026",
        point=Point("1 step, to first order", "the optimiser's", "softmax", "none"),
    )

    tau: float = 1.0
    sample: float | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        at_least("OPUS", "tau", self.tau, 0.0)
        if self.tau == 0:
            raise ValueError("OPUS found tau=0; expected a temperature above 0, such as 1.")
        if self.sample is not None:
            between("OPUS", "sample", self.sample, 0.0, 1.0)
            if self.sample == 0:
                raise ValueError("OPUS found sample=0; expected a share above 0, such as 0.5.")

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the softmax of the influences, or a draw from it if `sample` is set."""
        s = batch.targets.influence().double()
        deviation = s.std(correction=0)
        scores = s / (self.tau * deviation) if float(deviation) > 0 else torch.zeros_like(s)
        if self.sample is None:
            return scores.softmax(0), state
        return self._drawn(scores, batch), state

    def _drawn(self, scores: Tensor, batch: MiniBatch) -> Tensor:
        assert self.sample is not None
        k = share_of(self.sample, len(batch))
        w = torch.zeros_like(batch.losses)
        w[drawn(scores, k, stage_seed(self.seed, batch.step))] = 1.0 / k
        return w


def drawn(scores: Tensor, k: int, seed: int) -> Tensor:
    """Return the indices `[k]` of k tasks drawn without replacement, in the order of the draws.

    Each draw has the chances `softmax(scores)` over the tasks that are left: the result is that of
    the largest scores with Gumbel noise.
    """
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(len(scores), generator=generator, dtype=torch.float64, device="cpu")
    noise = -torch.log(-torch.log(uniform.clamp_min(torch.finfo(torch.float64).tiny)))
    return torch.topk(scores + noise.to(scores.device), k).indices


@dataclass(frozen=True)
class DoGE(MiniBatchWeighter):
    """DoGE (Fan et al. 2024): groups whose tasks help the targets, by exponentiated ascent.

    `log a_g` grows by `rate * mean s of the group / max |mean s|` whenever the group appears; it
    starts at 0. The groups of the mini-batch weigh `(1 - floor) softmax(log a) + floor / groups`,
    and the tasks of a group share its weight.

    Args:
        rate: step size of the ascent.
        floor: the share of the weight that all groups of the mini-batch have equally.
    """

    wants_targets = True
    card = Card(
        formula="`log a_g += 0.5 mean s / max\\|mean s\\|`; groups `0.9 softmax(log a) + 0.1 "
        "uniform`, shared by their tasks",
        assumes="groups that help the targets or do not, as a whole",
        costs="one evaluation of the targets",
        fails="without groups it is uniform; a step is as large where the means are noise",
        reference="Fan et al. 2024",
        point=Point("1 step, to first order", "the optimiser's", "softmax, by group", "a floor"),
    )

    rate: float = 0.5
    floor: float = 0.1

    def __post_init__(self) -> None:
        at_least("DoGE", "rate", self.rate, 0.0)
        between("DoGE", "floor", self.floor, 0.0, 1.0)

    def initial_state(self) -> Memory:
        """Return a state that has no group yet."""
        return {"log": {}}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Take a step of ascent, then return the groups' weights."""
        groups = groups_of(batch)
        influence = means(batch.targets.influence(), groups)
        log = {**dict.fromkeys(influence, 0.0), **state["log"]}
        largest = max(abs(value) for value in influence.values())
        for group, value in influence.items() if largest > 0 else ():
            log[group] += self.rate * value / largest
        top = max(log[group] for group in influence)
        chances = {group: math.exp(log[group] - top) for group in influence}
        total = sum(chances.values())
        q = {
            group: (1 - self.floor) * chance / total + self.floor / len(chances)
            for group, chance in chances.items()
        }
        return shared(q, groups), {"log": log}
