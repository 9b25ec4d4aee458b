"""Rules that weigh a task by what it does for the targets, one step ahead.

`v` is the gradient of the targets' summed loss, `g_i` a task's gradient and `s_i` its influence in
the optimiser's own geometry (`towpath.weighters.rules.targets`).
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from towpath.validation import at_least, between
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

    def weights(self, batch: MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        """Inner products with the targets' gradient, clamped at 0 and normalised."""
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

    tau: float = 1.0
    sample: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        at_least("OPUS", "tau", self.tau, 0.0)
        if self.tau == 0:
            raise ValueError("OPUS found tau=0; expected a temperature above 0, such as 1.")
        if self.sample is not None:
            between("OPUS", "sample", self.sample, 0.0, 1.0)
            if self.sample == 0:
                raise ValueError("OPUS found sample=0; expected a share above 0, such as 0.5.")

    def weights(self, batch: MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        """The softmax, or a draw from it."""
        s = batch.targets.influence().double()
        deviation = s.std(correction=0)
        scores = s / (self.tau * deviation) if float(deviation) > 0 else torch.zeros_like(s)
        if self.sample is None:
            return scores.softmax(0), state
        return self._drawn(scores, batch), state

    def _drawn(self, scores: Tensor, batch: MiniBatch) -> Tensor:
        """The k largest of scores with Gumbel noise: k draws without replacement."""
        assert self.sample is not None
        k = share_of(self.sample, len(batch))
        generator = torch.Generator().manual_seed(stage_seed(self.seed, batch.step))
        uniform = torch.rand(len(batch), generator=generator, dtype=torch.float64, device="cpu")
        noise = -torch.log(-torch.log(uniform.clamp_min(torch.finfo(torch.float64).tiny)))
        kept = torch.topk(scores + noise.to(scores.device), k).indices
        w = torch.zeros_like(batch.losses)
        w[kept] = 1.0 / k
        return w
