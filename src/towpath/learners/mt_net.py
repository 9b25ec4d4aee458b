"""MT-net (Lee and Choi 2018): which units adapt, and in which metric, is learned with the weights.

Every linear or convolutional layer is `T (W x + b)` in place of `W x + b`: T [n, n] mixes the n
outputs of the layer (a 1x1 convolution for feature maps) and starts as the identity. Each output
has a mask logit zeta, which starts at 0. For one task

    m   = hard Gumbel-softmax of [zeta, 0], one draw an output, straight-through gradient
    W_k = W_{k-1} - alpha m * dL/dW,   b_k = b_{k-1} - alpha m * dL/db

with the same m for a unit's weight and bias and in all inner steps, at test time too. T and zeta do
not adapt. `T (W x + b) = (T W) x + T b`, so the model itself is called, with these products.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from towpath.learners.beside import MODEL, ModelBeside, dotless
from towpath.learners.forward import Forward
from towpath.learners.inner_loop import AdaptationSteps, Rates
from towpath.learners.layers import WeightedLayer, weighted_layers
from towpath.learners.learner import Params
from towpath.learners.maml import MAML
from towpath.losses import LossLike
from towpath.validation import Range, at_least

TRANSFORMS, MASKS = "transforms.", "mask_logits."
# No parameter of a module can have an empty component in its name.
TRANSFORM = "..transform."
"""prefix of a layer's T among the weights of one task"""


class TransformedForward(Forward):
    """Calls the model with `T W` and `T b` in place of W and b."""

    def __init__(self, model: nn.Module, layers: Sequence[WeightedLayer]) -> None:
        super().__init__(model)
        self.layers = layers

    def __call__(self, params: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Return the outputs for weights that include each layer's T as `..transform.NAME`."""
        tensors = {name: t for name, t in params.items() if not name.startswith(TRANSFORM)}
        for layer in self.layers:
            T = params[TRANSFORM + layer.weight]  # [n, n]
            for name in layer.names:
                W = tensors[name]  # [n, ...]
                tensors[name] = (T @ W.reshape(len(T), -1)).reshape(W.shape)
        return super().__call__(tensors, x)


class MTNet(MAML):
    """MAML whose layers are transformed by a learned matrix, and whose units adapt at random.

    `learner.module` holds the meta-parameters: `model.NAME`, and for each layer with the weight
    NAME its `transforms.NAME` and `mask_logits.NAME`, with `/` for the dots in the latter two. Hand
    it, not the model, to an optimiser. Parameters of other layers, such as the scale and shift of a
    norm, are learned by the outer loop and do not adapt.

    Args:
        model: any `nn.Module` with linear or convolutional layers.
        inner_lr: rate of the inner steps: 0.01 for mini-ImageNet, 0.4 for Omniglot.
        adaptation_steps: number of inner steps: 5 for mini-ImageNet, 1 for Omniglot.
        first_order: take the inner gradients as constants in the outer gradient; masks and
            transforms are learned then, too.
        loss: of the inner steps and of the outputs, as for every `Learner`.
        temperature: of the Gumbel-softmax, whose derivative the masks' logits receive.
    """

    def __init__(
        self,
        model: nn.Module,
        inner_lr: float = 0.01,
        adaptation_steps: AdaptationSteps = 5,
        first_order: bool = False,
        loss: LossLike = "cross_entropy",
        temperature: Annotated[float, Range(0.01, 100.0)] = 1.0,
    ) -> None:
        super().__init__(model, inner_lr, adaptation_steps, first_order, loss)
        at_least("MTNet", "temperature", temperature, 0.01)
        self.temperature = temperature
        self.layers = weighted_layers(model)
        self._forward = TransformedForward(model, self.layers)
        like = dict(model.named_parameters())
        transforms = {
            layer.weight: torch.eye(
                layer.outputs, dtype=like[layer.weight].dtype, device=like[layer.weight].device
            )
            for layer in self.layers
        }
        logits = {
            layer.weight: torch.zeros_like(transforms[layer.weight][0])
            for layer in self.layers
            if not self._given_frozen.issuperset(layer.names)  # frozen units need no mask
        }
        self._own(ModelBeside(model, transforms=transforms, mask_logits=logits))

    def _split(self, params: Params) -> tuple[Params, Rates]:
        weights = {
            name.removeprefix(MODEL): tensor
            for name, tensor in params.items()
            if name.startswith(MODEL)
        }
        rates: dict[str, Tensor] = {}
        still = self._still()
        for layer in self.layers:
            weights[TRANSFORM + layer.weight] = params[TRANSFORMS + dotless(layer.weight)]
            zeta = params.get(MASKS + dotless(layer.weight))  # [n]
            if zeta is None or still.issuperset(layer.names):
                continue
            m = self._mask(zeta)  # [n]
            for name in (name for name in layer.names if name not in still):
                rates[name] = self.inner_lr * m.reshape(-1, *[1] * (weights[name].ndim - 1))
        return weights, rates

    def _mask(self, zeta: Tensor) -> Tensor:
        """Draw which of a layer's outputs adapt to the task: 1 or 0 for each."""
        logits = torch.stack([zeta, torch.zeros_like(zeta)])
        return functional.gumbel_softmax(logits, self.temperature, hard=True, dim=0)[0]
