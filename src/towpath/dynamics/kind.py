"""How a class of `torch.optim` is read and written: one object for each modelled class.

Each optimiser's own file defines its object; `towpath.dynamics.bridge` has the registry and the
code that is common to all.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from towpath.dynamics.state import OwnDynamics, Rule
from towpath.flat import Layout

Group = Mapping[str, Any]
"""A parameter group of a torch optimiser: its options by name."""
Entry = MutableMapping[str, Any]
"""The state that a torch optimiser stores for one parameter."""

# Options that change the step itself; `foreach`, `fused` and `capturable` only change its speed.
UNMODELLED_OPTIONS = ("maximize", "differentiable")


class TorchKind(ABC):
    """Reads and writes the state of one class of `torch.optim`."""

    name: ClassVar[str]
    """name of the class in `torch.optim`"""

    @abstractmethod
    def rule(self, group: Group) -> Rule:
        """Return a parameter group's hyper-parameters; ValueError for unmodelled options."""

    @abstractmethod
    def dynamics(self, layout: Layout, rules: Sequence[Any]) -> OwnDynamics[Any]:
        """Return the dynamics of a step, given one rule for each parameter."""

    @abstractmethod
    def steps_taken(self, entry: Entry) -> int:
        """Return how many steps a parameter has had, as far as the next one depends on it."""

    @abstractmethod
    def kept(self, group: Group) -> tuple[str, ...]:
        """Return the names of the moments that torch stores for the parameters of a group.

        It stores no entry at all where there are none.
        """

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


class CountingKind(TorchKind):
    """Reads and writes a class whose entries count the steps of each parameter."""

    def steps_taken(self, entry: Entry) -> int:
        """Return the number of steps that the parameter has had."""
        return int(number(entry.get("step", 0)))

    def write_steps(self, entry: Entry, steps: int) -> None:
        """Set the counter, as the kind of tensor that it was."""
        old = entry.get("step")
        if isinstance(old, Tensor):
            entry["step"] = torch.full_like(old, float(steps))
            return
        # torch's own choice: its counters stay on the CPU, in the default dtype
        dtype = torch.get_default_dtype()
        entry["step"] = torch.tensor(float(steps), dtype=dtype, device="cpu")


def has_momentum(group: Group) -> bool:
    """Return whether a group has momentum, now or at other steps of a scheduler that cycles it."""
    # CyclicLR and OneCycleLR write the largest momentum beside the current one, which may be 0
    return bool(group.get("momentum") or group.get("max_momentum"))


def number(value: Any) -> float:
    """Convert an option or a counter, which torch may store as a tensor, to a float."""
    return float(value.item()) if isinstance(value, Tensor) else float(value)
