"""How a class of `torch.optim` is read and written: one object for each that is modelled.

An optimiser's own file has its object; `towpath.dynamics.bridge` has the registry and does what is
the same for all.
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
"""What a torch optimiser remembers of one parameter."""

# Options that change the step itself; `foreach`, `fused` and `capturable` only change its speed.
UNMODELLED_OPTIONS = ("amsgrad", "maximize", "differentiable")


class TorchKind(ABC):
    """Reads and writes the state of one class of `torch.optim`."""

    name: ClassVar[str]
    """as in `torch.optim`"""
    slots: ClassVar[tuple[str, ...]]
    """names of the moments in a parameter's entry, in the order of `State.slots`"""

    @abstractmethod
    def rule(self, group: Group) -> Rule:
        """The hyper-parameters of a parameter group; ValueError for options without a model."""

    @abstractmethod
    def dynamics(self, layout: Layout, rules: Sequence[Any]) -> Dynamics:
        """The step for parameters with these rules, one for each."""

    @abstractmethod
    def steps_taken(self, entry: Entry) -> int:
        """How many steps a parameter has behind it, as far as the next one depends on it."""

    def keeps(self, group: Group) -> bool:  # noqa: ARG002
        """Whether torch keeps an entry for the parameters of a group."""
        return True

    def write_steps(self, entry: Entry, steps: int) -> None:  # noqa: B027
        """Leave the number of steps in a parameter's entry, where torch keeps one."""

    def check_options(self, group: Group) -> None:
        """ValueError for an option that changes the step in a way that is not modelled."""
        for option in UNMODELLED_OPTIONS:
            if group.get(option):
                raise ValueError(
                    f"torch.optim.{self.name} with {option}={group[option]} is not modelled; "
                    f"expected {option}=False. Make the optimiser without it."
                )


def number(value: Any) -> float:
    """An option or a counter, which torch may hold as a tensor."""
    return float(value.item()) if isinstance(value, Tensor) else float(value)
