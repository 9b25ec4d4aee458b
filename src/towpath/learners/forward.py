"""Calling a module as a pure function: (params, inputs) -> outputs, nothing changed on the way."""

from collections.abc import Mapping

from torch import Tensor, nn
from torch.func import functional_call


class Forward:
    """`forward(params, x)` is `model(x)` with the parameters `params`.

    Layers that write to their buffers (batch norm with running statistics) write to copies that
    are dropped after the pass: the same call gives the same answer, and the model stays as it was.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.buffers = dict(model.named_buffers())

    def __call__(self, params: Mapping[str, Tensor], x: Tensor) -> Tensor:
        tensors = dict(params)
        for name, buffer in self.buffers.items():
            tensors[name] = buffer.clone()
        outputs: Tensor = functional_call(self.model, tensors, (x,))
        return outputs
