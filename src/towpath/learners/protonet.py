"""Prototypical networks (Snell et al. 2017): the nearest class mean in a learned embedding."""

from torch import Tensor, nn

from towpath.learners.learner import Learner, Params, Predictor
from towpath.learners.prototypes import prototypes
from towpath.losses import LossLike, class_loss


class ProtoNet(Learner):
    """Logits are the negative squared Euclidean distances to the class prototypes.

    Args:
        model: an embedding, from inputs to features `[N, D]` (more dimensions are flattened);
            for our backbones `ways=None`.
        loss: a loss of class scores, as for every `Learner`.
    """

    wants_embedding = True
    predicts_numbers = False

    def __init__(self, model: nn.Module, loss: LossLike = "cross_entropy") -> None:
        super().__init__(model, class_loss(loss))

    def adapt(self, params: Params, support_x: Tensor, support_y: Tensor) -> Predictor:
        """Compute the class prototypes of the support set and return their predictor."""
        params = self._complete(params)
        centres = prototypes(self._forward(params, support_x).flatten(1), support_y)  # [ways, D]

        def logits(query_x: Tensor) -> Tensor:
            """Return the negative squared distances `[Q, ways]` to the prototypes."""
            features = self._forward(params, query_x).flatten(1)  # [Q, D]
            # The difference first: expanding the square loses digits where distances are small.
            return -(features[:, None] - centres).square().sum(-1)

        return Predictor(logits, self.loss)
