"""Calls a module as a pure function from (params, inputs) to outputs, without side effects."""

from collections.abc import Mapping

from torch import Tensor, nn
from torch.autograd.graph import disable_saved_tensors_hooks
from torch.func import functional_call

from towpath.learners.statistics import note, passes_of, tracking_layers

RECOMPUTES = (
    "The model changes how tensors are saved for the backward pass, as torch.utils.checkpoint "
    "does; expected a model that saves them as they are. A part that is computed again in the "
    "backward pass would be computed with the module's own weights and not with those of the pass, "
    "so its gradients would be wrong. Call that part without checkpoint."
)


class Forward:
    """`forward(params, x)` is `model(x)` with the parameters `params`.

    Layers that write to their buffers (batch norm with running statistics) write to copies that
    are discarded after the pass: equal calls give equal results, and the model is not changed. The
    updates of running statistics are recorded instead (`towpath.learners.statistics`).
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.prefix = ""
        """the prefix of the model's names within the module that owns the meta-parameters"""
        self.has_buffers = any(True for _ in model.buffers())
        self.aliases = second_names(model)
        self.tracking = tracking_layers(model)

    def __call__(self, params: Mapping[str, Tensor], x: Tensor) -> Tensor:
        tensors = dict(params)
        before: dict[str, Tensor] = {}
        if self.has_buffers:
            before = dict(self.model.named_buffers())
            tensors |= {name: buffer.clone() for name, buffer in before.items()}
        for alias, name in self.aliases.items():
            if name in tensors:
                tensors[alias] = tensors[name]
        # Tied by `aliases`. With tie_weights=True torch swaps a module that is registered twice
        # twice, too, and leaves the tensors of the first swap in it.
        with disable_saved_tensors_hooks(RECOMPUTES):
            outputs: Tensor = functional_call(self.model, tensors, (x,), tie_weights=False)
        if self.tracking:
            note(passes_of(self.tracking, before, tensors, self.prefix))
        return outputs


def second_names(model: nn.Module) -> dict[str, str]:
    """Return the further names of tensors that several modules share, with the first name of each.

    A module that is registered twice lists its tensors under the name of its first place only.
    """
    named = [*model.named_parameters(), *model.named_buffers()]
    first = {id(tensor): name for name, tensor in named}
    return {
        name: first[id(tensor)]
        for place, module in model.named_modules()
        for table in (module._parameters, module._buffers)
        for key, tensor in table.items()
        if tensor is not None and (name := f"{place}.{key}" if place else key) != first[id(tensor)]
    }
