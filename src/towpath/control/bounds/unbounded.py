"""Actions without bounds, for weights that are feasible by construction."""

from dataclasses import dataclass

from torch import Tensor

from towpath.control.bounds.bounds import ClosedLoop


@dataclass(frozen=True)
class Unbounded(ClosedLoop):
    """Every action is feasible: for logits, whose weights are positive by themselves."""

    def allows(self, action: Tensor) -> bool:  # noqa: ARG002
        """Return True, because every action is feasible."""
        return True
