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
        self.has_buffers = any(True for _ in model.buffers())
        # Asked once: torch would search the whole module for shared tensors at every pass.
        self.shares_tensors = any(
            len(list(named(remove_duplicate=False))) != len(list(named()))
            for named in (model.named_parameters, model.named_buffers)
        )

    def __call__(self, params: Mapping[str, Tensor], x: Tensor) -> Tensor:
        tensors = dict(params)
        if self.has_buffers:
            tensors |= {name: buffer.clone() for name, buffer in self.model.named_buffers()}
        outputs: Tensor = functional_call(
            self.model, tensors, (x,), tie_weights=self.shares_tensors
        )
        return outputs
