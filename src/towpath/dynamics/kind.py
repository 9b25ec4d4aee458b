"""How a class of `torch.optim` is read and written: one object for each modelled class.

Each optimiser's own file defines its object; `towpath.dynamics.bridge` has the registry and the
code that is common to all.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, ClassVar

from torch import Tensor

from towpath.dynamics.state import Dynamics, Rule
from towpath.flat import Layout

Group = Mapping[str, Any]
"""A parameter group of a torch optimiser: its options by name."""
Entry = MutableMapping[str, Any]
"""The state that a torch optimiser stores for one parameter."""

# Options that change the step itself; `foreach`, `fused` and `capturable` only change its speed.
UNMODELLED_OPTIONS = ("amsgrad", "maximize", "differentiable")


class TorchKind(ABC):
    """Reads and writes the state of one class of `torch.optim`."""

    name: ClassVar[str]
    """name of the class in `torch.optim`"""
    slots: ClassVar[tuple[str, ...]]
    """names of the moments in a parameter's entry, in the order of `State.slots`"""

    @abstractmethod
    def rule(self, group: Group) -> Rule:
        """Return a parameter group's hyper-parameters; ValueError for unmodelled options."""

    @abstractmethod
    def dynamics(self, layout: Layout, rules: Sequence[Any]) -> Dynamics:
        """Return the dynamics of a step, given one rule for each parameter."""

    @abstractmethod
    def steps_taken(self, entry: Entry) -> int:
        """Return how many steps a parameter has had, as far as the next one depends on it."""

    def keeps(self, group: Group) -> bool:  # noqa: ARG002
        """Return whether torch stores a state entry for the parameters of a group."""
        return True

    def write_steps(self, entry: Entry, steps: int) -> None:  # noqa: B027
        """Write the number of steps into a parameter's entry, if torch stores one."""

    def check_options(self, group: Group) -> None:
        """Raise a ValueError for an option that changes the step and is not modelled."""
        for option in UNMODELLED_OPTIONS:
            if group.get(option):
                raise ValueError(
                    f"torch.optim.{self.name} with {option}={group[option]} is not modelled; "
                    f"expected {option}=False. Make the optimiser without it."
                )


def number(value: Any) -> float:
    """Convert an option or a counter, which torch may store as a tensor, to a float."""
    return float(value.item()) if isinstance(value, Tensor) else float(value)
