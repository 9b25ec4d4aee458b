"""Model-agnostic meta-learning (Finn et al. 2017): the initialisation is what is learned.

A task's model is the meta-parameters after `adaptation_steps` gradient steps of rate `inner_lr` on
the mean support loss, whatever the number of shots of each class.
"""

import math
from collections.abc import Mapping
from numbers import Integral

from torch import Tensor, nn

from towpath.learners.head import head_names
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
        zero_head: start the head (the layer registered last) of every task at zero (Lee et al.
            2020). Its parameters are then no meta-parameters, and are frozen in the model.
        test_steps: number of inner steps while the module is in evaluation mode; None for as many
            as in training.
    """

    def __init__(
        self,
        model: nn.Module,
        inner_lr: float = 0.1,
        adaptation_steps: AdaptationSteps = 5,
        first_order: bool = True,
        loss: LossLike = "cross_entropy",
        zero_head: bool = False,
        test_steps: AdaptationSteps | None = None,
    ) -> None:
        super().__init__(model, loss)  # first, while only what the caller froze is frozen
        own = dict(model.named_parameters())
        zero = head_names(own) if zero_head else ()
        self._zero_head = {name: own[name].requires_grad_(False) for name in zero}
        number = isinstance(inner_lr, int | float) and not isinstance(inner_lr, bool)
        if not (number and math.isfinite(inner_lr) and inner_lr > 0):
            raise ValueError(
                f"Found inner_lr={inner_lr!r}; expected a positive number. "
                "Pass for example inner_lr=0.1."
            )
        for name, steps in (("adaptation_steps", adaptation_steps), ("test_steps", test_steps)):
            if steps is None:
                continue
            if isinstance(steps, bool) or not isinstance(steps, Integral):
                raise ValueError(
                    f"Found {name}={steps!r}; expected a whole number, 0 or more. "
                    f"Pass for example {name}=5."
                )
            if steps < 0:
                raise ValueError(
                    f"Found {name}={steps}; expected 0 or more. Pass for example {name}=5."
                )
        self.inner_lr = inner_lr
        self.adaptation_steps = adaptation_steps
        self.first_order = first_order
        self.test_steps = adaptation_steps if test_steps is None else test_steps

    @property
    def steps_now(self) -> int:
        """The number of inner steps in the module's present mode, training or evaluation."""
        return self.adaptation_steps if self.module.training else self.test_steps

    def parameters(self) -> dict[str, Tensor]:
        """Return the current meta-parameters by name: those of `module` without a zero head."""
        zero = [id(parameter) for parameter in self._zero_head.values()]
        return {name: p for name, p in super().parameters().items() if id(p) not in zero}

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
            steps=self.steps_now,
            first_order=self.first_order,
        )
        return Predictor(lambda query_x: self._forward(fast, query_x), self.loss)

    def _split(self, params: Params) -> tuple[Mapping[str, Tensor], Rates]:
        """Return the model's weights, and the learning rate of each weight that adapts."""
        weights, still = {**params, **self._zeros(params)}, self._still()
        return weights, {name: self.inner_lr for name in weights if name not in still}

    def _still(self) -> set[str]:
        """Return the names of the frozen parameters, without a head that each task starts anew."""
        return super()._still() - self._zero_head.keys()

    def _zeros(self, params: Params) -> dict[str, Tensor]:
        """Return the head of every task's start where it is zero, by its names in the model."""
        like = next(iter(params.values()))
        return {name: like.new_zeros(head.shape) for name, head in self._zero_head.items()}
