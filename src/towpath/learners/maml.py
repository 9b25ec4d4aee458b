"""Model-agnostic meta-learning (Finn et al. 2017): the initialisation is what is learned.

A task's model is the meta-parameters after `adaptation_steps` gradient steps of rate `inner_lr` on
the mean support loss, whatever the number of shots of each class.
"""

import math
from collections.abc import Mapping

from torch import Tensor, nn

from towpath.learners.inner_loop import AdaptationSteps, Rates, gradient_steps, recordable
from towpath.learners.learner import Learner, Params, Predictor
from towpath.losses import LossLike


class MAML(Learner):
    """All parameters that are not frozen adapt by gradient descent on the support loss.

    Args:
        model: any `nn.Module` from inputs to logits `[N, ways]` or regressions `[N, C]`.
        inner_lr: rate of the inner steps.
        adaptation_steps: number of inner steps; 0 leaves the model as it is.
        first_order: take the inner gradients as constants in the outer gradient.
        loss: of the inner steps and of the outputs, as for every `Learner`.
    """

    def __init__(
        self,
        model: nn.Module,
        inner_lr: float = 0.1,
        adaptation_steps: AdaptationSteps = 5,
        first_order: bool = True,
        loss: LossLike = "cross_entropy",
    ) -> None:
        super().__init__(model, loss)
        if not (math.isfinite(inner_lr) and inner_lr > 0):
            raise ValueError(
                f"Found inner_lr={inner_lr}; expected a positive number. "
                "Pass for example inner_lr=0.1."
            )
        if adaptation_steps < 0:
            raise ValueError(
                f"Found adaptation_steps={adaptation_steps}; expected 0 or more. "
                "Pass for example adaptation_steps=5."
            )
        self.inner_lr = inner_lr
        self.adaptation_steps = adaptation_steps
        self.first_order = first_order

    def adapt(self, params: Params, support_x: Tensor, support_y: Tensor) -> Predictor:
        """Adapt by gradient steps on the support set and return the resulting predictor."""
        weights, rates = self._split(self._complete(params))
        support_x, support_y = recordable(support_x), recordable(support_y)

        def support_loss(fast: Params) -> Tensor:
            """Return the loss of the support set with the weights `fast`."""
            return self.loss.value(self._forward(fast, support_x), support_y)

        fast = gradient_steps(
            support_loss,
            weights,
            rates,
            steps=self.adaptation_steps,
            first_order=self.first_order,
        )
        return Predictor(lambda query_x: self._forward(fast, query_x), self.loss)

    def _split(self, params: Params) -> tuple[Mapping[str, Tensor], Rates]:
        """Return the model's weights, and the learning rate of each weight that adapts."""
        frozen = self.frozen()
        return params, {name: self.inner_lr for name in params if name not in frozen}
