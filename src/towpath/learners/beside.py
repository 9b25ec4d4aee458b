"""Meta-parameters beside the model's own: a rate, a mask or a deviation for each of its tensors."""

from collections.abc import Mapping

from torch import Tensor, nn

MODEL = "model."
"""prefix of the model's own parameters among the meta-parameters"""


class ModelBeside(nn.Module):
    """A model beside further groups of meta-parameters; calling it calls the model.

    The group `rates` of a parameter `head.weight` is registered as `rates.head/weight`.

    Args:
        model: the model, whose parameters are called `model.NAME`.
        groups: initial values of each group, by the name of the parameter that they belong to.
    """

    def __init__(self, model: nn.Module, **groups: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.model = model
        for group, values in groups.items():
            # Not a ParameterDict, which refuses the names of a dict's methods, such as "keys".
            table = nn.Module()
            for name, value in values.items():
                table.register_parameter(dotless(name), nn.Parameter(value))
            self.add_module(group, table)

    def forward(self, x: Tensor) -> Tensor:
        """Call the model; the further groups have no part in its outputs."""
        outputs: Tensor = self.model(x)
        return outputs


def dotless(name: str) -> str:
    """Return a parameter's name without the dots that torch forbids in the name of an entry."""
    return name.replace(".", "/")
