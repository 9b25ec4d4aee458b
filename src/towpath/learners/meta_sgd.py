"""Meta-SGD (Li et al. 2017): MAML that learns the rate of every single parameter as well.

The meta-parameters are the model's weights and one rate a weight, of the same shapes:
`fast = weights - rates * gradient`, elementwise. A rate may become negative: it decides the
direction of a step, too.
"""

from collections.abc import Collection

import torch
from torch import nn

from towpath.learners.beside import MODEL, ModelBeside, dotless
from towpath.learners.inner_loop import AdaptationSteps, Rates
from towpath.learners.learner import Params
from towpath.learners.maml import MAML
from towpath.losses import LossLike

RATES = "rates."


class ModelWithRates(ModelBeside):
    """A model beside the inner rate of each of its parameters but those that stay `still`."""

    def __init__(self, model: nn.Module, inner_lr: float, still: Collection[str] = ()) -> None:
        params = model.named_parameters()
        rates = {name: torch.full_like(p, inner_lr) for name, p in params if name not in still}
        super().__init__(model, rates=rates)


class MetaSGD(MAML):
    """All parameters adapt, each entry at its own learned rate.

    `learner.module` holds the meta-parameters: `model.NAME` and `rates.NAME`, with `/` for the
    dots in the latter. Hand it, not the model, to an optimiser.

    Args:
        model, adaptation_steps, first_order, loss, zero_head, test_steps: as for `MAML` (the
            Meta-SGD paper takes one step, of second order). With `first_order` the rates are still
            learned.
        inner_lr: initial value of every rate.
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
        super().__init__(
            model, inner_lr, adaptation_steps, first_order, loss, zero_head, test_steps
        )
        names = [name for name, _ in model.named_parameters()]
        fixed = self._given_frozen - self._zero_head.keys()
        if fixed.issuperset(names):
            raise ValueError(
                "Found a network whose parameters are all frozen; expected at least one that is "
                "not, because Meta-SGD learns a rate for each weight that adapts. Unfreeze a layer "
                "with layer.requires_grad_(True); to put a learner aside, freeze learner.module "
                "after it was made."
            )
        self._own(ModelWithRates(model, inner_lr, fixed))
        self._keys = {name: (MODEL + name, RATES + dotless(name)) for name in names}

    def _split(self, params: Params) -> tuple[Params, Rates]:
        weights = {n: params[w] for n, (w, _) in self._keys.items() if n not in self._zero_head}
        keys, still = self._keys.items(), self._still()
        rates = {n: params[rate] for n, (_, rate) in keys if n not in still and rate in params}
        return {**weights, **self._zeros(params)}, rates
