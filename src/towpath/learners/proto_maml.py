"""Proto-MAML (Triantafillou et al. 2020): MAML whose head starts as the prototypical classifier.

`-|z - c_k|^2 = 2 c_k . z - |c_k|^2 - |z|^2`, and the last term is common to all classes: so a
linear head with `W_k = 2 c_k`, `b_k = -|c_k|^2` begins as a prototypical network. The inner loop
then adapts body and head. The head is made anew for each task, so tasks may differ in ways, and
only the embedding's parameters are meta-parameters; gradients flow to them through the prototypes
in the first-order form, too.
"""

from torch import Tensor, nn

from towpath.learners.inner_loop import AdaptationSteps, gradient_steps, recordable
from towpath.learners.learner import Params, Predictor
from towpath.learners.linear_head import BIAS, WEIGHT, linear_head
from towpath.learners.maml import MAML
from towpath.learners.prototypes import prototypes
from towpath.losses import LossLike, class_loss


class ProtoMAML(MAML):
    """MAML on an embedding, with a head initialised from the task's prototypes.

    Args:
        model: an embedding, from inputs to features `[N, D]` (more dimensions are flattened);
            for our backbones `ways=None`.
        inner_lr, adaptation_steps, first_order, test_steps: as for `MAML`; 0 steps give a
            prototypical network up to a constant in each row of logits.
        loss: a loss of class scores, of the inner steps and of the outputs.
    """

    wants_embedding = True
    predicts_numbers = False

    def __init__(
        self,
        model: nn.Module,
        inner_lr: float = 0.1,
        adaptation_steps: AdaptationSteps = 5,
        first_order: bool = True,
        test_steps: AdaptationSteps | None = None,
        loss: LossLike = "cross_entropy",
    ) -> None:
        scores = class_loss(loss)
        super().__init__(
            model, inner_lr, adaptation_steps, first_order, scores, test_steps=test_steps
        )

    def adapt(self, params: Params, support_x: Tensor, support_y: Tensor) -> Predictor:
        """Start the head from the class prototypes, then adapt body and head to the support set."""
        params = self._complete(params)
        support_x, support_y = recordable(support_x), recordable(support_y)

        def logits(fast: Params, x: Tensor) -> Tensor:
            """Return the logits of x with the adapted body and head."""
            return linear_head(self._forward, fast, x)

        centres = prototypes(self._forward(params, support_x).flatten(1), support_y)  # [ways, D]
        still = self._still()
        initial = {**params, WEIGHT: 2 * centres, BIAS: -centres.square().sum(1)}
        fast = gradient_steps(
            lambda at: self.loss.value(logits(at, support_x), support_y),
            initial,
            {name: self.inner_lr for name in initial if name not in still},
            steps=self.steps_now,
            first_order=self.first_order,
        )
        return Predictor(lambda query_x: logits(fast, query_x), self.loss)
