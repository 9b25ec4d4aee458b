"""Meta-SGD (Li et al. 2017): MAML that learns the rate of every single parameter as well.

The meta-parameters are the model's weights and one rate a weight, of the same shapes:
`fast = weights - rates * gradient`, elementwise. A rate may become negative: it decides the
direction of a step, too.
"""

import torch
from torch import Tensor, nn

from towpath.learners.inner_loop import AdaptationSteps, Rates
from towpath.learners.learner import Params
from towpath.learners.maml import MAML
from towpath.losses import LossLike

MODEL, RATES = "model.", "rates."


class ModelWithRates(nn.Module):
    """A model beside the inner rate of each of its parameters; calling it calls the model."""

    def __init__(self, model: nn.Module, inner_lr: float) -> None:
        super().__init__()
        self.model = model
        self.rates = nn.ParameterDict()
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                continue  # it does not adapt
            # One by one: given a dict, ParameterDict would sort it and lose the model's order.
            self.rates[rate_key(name)] = nn.Parameter(torch.full_like(parameter, inner_lr))

    def forward(self, x: Tensor) -> Tensor:
        """Call the model; the rates have no part in its outputs."""
        outputs: Tensor = self.model(x)
        return outputs


def rate_key(name: str) -> str:
    """Return the name of a parameter's rate, without the dots that torch forbids there."""
    return name.replace(".", "/")


class MetaSGD(MAML):
    """All parameters adapt, each entry at its own learned rate.

    `learner.module` holds the meta-parameters: `model.NAME` and `rates.NAME`, with `/` for the
    dots in the latter. Hand it, not the model, to an optimiser.

    Args:
        model, adaptation_steps, first_order, loss: as for `MAML` (the Meta-SGD paper takes one
            step, of second order). With `first_order` the rates are still learned.
        inner_lr: initial value of every rate.
    """

    def __init__(
        self,
        model: nn.Module,
        inner_lr: float = 0.1,
        adaptation_steps: AdaptationSteps = 5,
        first_order: bool = True,
        loss: LossLike = "cross_entropy",
    ) -> None:
        super().__init__(model, inner_lr, adaptation_steps, first_order, loss)
        self._own(ModelWithRates(model, inner_lr))
        self._weight_names = [name for name, _ in model.named_parameters()]

    def _split(self, params: Params) -> tuple[Params, Rates]:
        frozen = self.frozen()
        weights = {name: params[MODEL + name] for name in self._weight_names}
        rates = {
            name: params[RATES + rate_key(name)]
            for name in self._weight_names
            if MODEL + name not in frozen and RATES + rate_key(name) in params
        }
        return weights, rates
