"""When a race is run: rarely, and ever more rarely, so that a long training pays little for it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """The steps at which heats begin, and their length, in mini-batches.

    The first heat begins once losses say something; each later one at `spacing` times the step of
    the one before, because what suits training changes ever more slowly.
    """

    first: int = 40
    spacing: float = 4.0
    length: int = 50
    """mini-batches of a heat: a gain of the moment must not be taken for one that lasts"""

    def begins(self, heats: int) -> int:
        """Return the step at which the heat after this many heats begins."""
        return round(self.first * self.spacing**heats)
