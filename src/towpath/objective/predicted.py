"""The predictions for the query set of one task, of learners with and without random draws.

outputs      [Q, ways], or [Q, ways, S] for S draws of a learner that samples
loss         mean over the draws of their losses, plus the learner's penalty
predictions  [Q, ways], of several draws log((1/S) sum_s p_s): as logits they give the mean of
             the probabilities; for regression the mean of the outputs
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from towpath.data.episode import Episode
from towpath.learners import Predictor
from towpath.losses import Loss, Result


@dataclass(frozen=True, eq=False)
class Predicted:
    """The outputs of a task's query set with their targets, and what is added to their loss."""

    outputs: Tensor
    targets: Tensor | None
    """None where a function of the user's computed the loss itself, which is in `outputs`"""
    kind: Loss | None
    """the loss between outputs and targets; None where they have none"""
    penalty: Tensor | None = None
    """scalar that is added to the loss"""
    sampled: bool = False
    """whether the last dimension of the outputs is that of random draws"""

    @classmethod
    def by(cls, predictor: Predictor, episode: Episode) -> "Predicted":
        """Return what an adapted learner predicts for the query set of an episode."""
        outputs, targets = predictor(episode.query_x), episode.query_y
        penalty = None if predictor.penalty is None else predictor.penalty(len(targets))
        return cls(outputs, targets, predictor.loss, penalty, predictor.sampled)

    def in_precision_of(self, params: Mapping[str, Tensor]) -> "Predicted":
        """Return the same with outputs in the precision of the parameters.

        Under autocast they are bfloat16 or float16, in which a mean over samples would lose digits.
        """
        if self.outputs.dtype not in (torch.bfloat16, torch.float16):
            return self
        dtype = next(iter(params.values())).dtype
        return replace(self, outputs=self.outputs.to(dtype))

    def loss(self) -> Tensor:
        """Return the loss of the task: the mean over draws, with the penalty."""
        loss = self.rows_of_draws().value()
        return loss if self.penalty is None else loss + self.penalty

    def rows_of_draws(self) -> Result:
        """Return outputs with a row for each query sample and draw, `[Q S, ways]`, and targets.

        A mean over these rows is the mean over the draws, of the loss as of its curvature.
        """
        outputs, targets = self.outputs, self.targets
        if self.sampled and targets is not None:
            targets = targets.repeat_interleave(outputs.shape[-1], 0)
            outputs = outputs.movedim(-1, 1).flatten(0, 1)
        return Result(outputs, targets, self.kind)

    def predictions(self) -> Tensor:
        """Return one row for each query sample, `[Q, ways]`, without a graph."""
        outputs = self.outputs.detach()
        if not self.sampled or self.kind is None:
            return outputs
        if not self.kind.classifies:
            return outputs.mean(-1)
        return outputs.log_softmax(1).logsumexp(-1) - math.log(outputs.shape[-1])
