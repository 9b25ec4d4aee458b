"""The predictions for the query set of one task, of learners with and without random draws.

outputs      [Q, ways], or [Q, ways, S] for S draws of a learner that samples
loss         mean over the draws of their losses, plus the learner's penalty
predictions  [Q, ways], of several draws log((1/S) sum_s p_s): as logits they give the mean of
             the probabilities; for regression the mean of the outputs
"""

import math
from dataclasses import dataclass

from torch import Tensor

from towpath.data.episode import Episode
from towpath.learners import Predictor
from towpath.losses import Loss


@dataclass(frozen=True, eq=False)
class Predicted:
    """The outputs of a task's query set with their targets, and what is added to their loss."""

    outputs: Tensor
    targets: Tensor
    penalty: Tensor | None = None
    """scalar that is added to the loss"""
    sampled: bool = False
    """whether the last dimension of the outputs is that of random draws"""

    @classmethod
    def by(cls, predictor: Predictor, episode: Episode) -> "Predicted":
        """Return what an adapted learner predicts for the query set of an episode."""
        outputs, targets = predictor(episode.query_x), episode.query_y
        penalty = None if predictor.penalty is None else predictor.penalty(len(targets))
        return cls(outputs, targets, penalty, predictor.sampled)

    def loss(self, kind: Loss) -> Tensor:
        """Return the loss of the task: the mean over draws, with the penalty."""
        outputs, targets = self.rows_of_draws(), self.targets
        if self.sampled:
            targets = targets.repeat_interleave(self.outputs.shape[-1], 0)
        loss = kind.value(outputs, targets)
        return loss if self.penalty is None else loss + self.penalty

    def rows_of_draws(self) -> Tensor:
        """Return the outputs with a row for each query sample and draw, `[Q S, ways]`.

        A mean over these rows is the mean over the draws, of the loss as of its curvature.
        """
        return self.outputs.movedim(-1, 1).flatten(0, 1) if self.sampled else self.outputs

    def predictions(self, kind: Loss) -> Tensor:
        """Return one row for each query sample, `[Q, ways]`, without a graph."""
        outputs = self.outputs.detach()
        if not self.sampled:
            return outputs
        if not kind.classifies:
            return outputs.mean(-1)
        return outputs.log_softmax(1).logsumexp(-1) - math.log(outputs.shape[-1])
