"""Bounds that keep every weight at 0 or above by shortening the step."""

from dataclasses import dataclass

from towpath.control.bounds.bounds import ClosedLoop


@dataclass(frozen=True)
class Backtrack(ClosedLoop):
    """The paper's bounds: the whole step shrinks until no weight is negative."""
