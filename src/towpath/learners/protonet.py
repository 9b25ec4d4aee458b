"""Prototypical networks (Snell et al. 2017): the nearest class mean in a learned embedding."""

from torch import Tensor, nn

from towpath.learners.learner import Learner, Params, Predictor
from towpath.learners.prototypes import prototypes


class ProtoNet(Learner):
    """Logits are the negative squared Euclidean distances to the class prototypes.

    Args:
        model: an embedding, from inputs to features `[N, D]` (more dimensions are flattened);
            for our backbones `ways=None`.
    """

    wants_embedding = True

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model, "cross_entropy")

    def adapt(self, params: Params, support_x: Tensor, support_y: Tensor) -> Predictor:
        """Compute the class prototypes of the support set and return their predictor."""
        self._check(params)
        centres = prototypes(self._forward(params, support_x).flatten(1), support_y)  # [ways, D]

        def logits(query_x: Tensor) -> Tensor:
            """Return the negative squared distances `[Q, ways]` to the prototypes."""
            features = self._forward(params, query_x).flatten(1)  # [Q, D]
            # The difference first: expanding the square loses digits where distances are small.
            return -(features[:, None] - centres).square().sum(-1)

        return Predictor(logits, self.loss)
