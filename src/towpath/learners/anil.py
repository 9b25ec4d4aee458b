"""Almost no inner loop (Raghu et al. 2020): MAML whose inner loop adapts the head only."""

from torch import nn

from towpath.learners.head import head_names
from towpath.learners.inner_loop import AdaptationSteps, Rates
from towpath.learners.learner import Params
from towpath.learners.maml import MAML
from towpath.losses import LossLike


class ANIL(MAML):
    """Only the head adapts; the body is meta-learned and shared by all tasks.

    Args:
        model, inner_lr, adaptation_steps, first_order, loss: as for `MAML`.
        head: name of the layer that adapts, as in `model.named_modules()`. None means the layer
            that owns the last of `model.named_parameters()`, which is the last layer *registered*
            (`head` in our backbones); name it if that is not the last one in the computation.
    """

    def __init__(
        self,
        model: nn.Module,
        inner_lr: float = 0.1,
        adaptation_steps: AdaptationSteps = 5,
        first_order: bool = True,
        loss: LossLike = "cross_entropy",
        head: str | None = None,
    ) -> None:
        super().__init__(model, inner_lr, adaptation_steps, first_order, loss)
        self.head_names = head_names(self.parameters(), head)

    def _split(self, params: Params) -> tuple[Params, Rates]:
        still = self._still()
        return params, {name: self.inner_lr for name in self.head_names if name not in still}
