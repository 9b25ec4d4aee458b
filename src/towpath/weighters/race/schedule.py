"""When a race is run: rarely, and ever more rarely, so that a long training pays little for it."""

import math
from dataclasses import dataclass

LATER = 0.5
"""how long later heats are, as a share of the first: they have an arm to confirm, not all to try"""
EARLY = 0.5
"""the share of a run in which a later heat must end: what is chosen then has little left to act on,
and until the last heat the judges, which may be the best tasks there are, are not trained on"""


@dataclass(frozen=True)
class Schedule:
    """The steps at which heats begin, and their length, in mini-batches.

    The first heat begins once losses say something; each later one at `spacing` times the step of
    the one before, because what suits training changes ever more slowly.
    """

    first: int = 40
    spacing: float = 4.0
    length: int = 40
    """mini-batches of the first heat: a gain of the moment must not be taken for one that lasts"""

    def begins(self, heats: int) -> int:
        """Return the step at which the heat after this many heats begins.

        Where the first one begins at once, the others are counted from its end.
        """
        return round((self.first or self.length) * self.spacing**heats) if heats else self.first

    def first_decision(self, T: int) -> int:
        """Return the fewest steps of a run in which the first heat ends.

        A heat begins with a window, and ends with one; the last window of a run may be shorter.

        Args:
            T: number of mini-batches of the other windows.
        """
        return T * -(-self.begins(0) // T) + self.lasts(0)

    def last_end(self, steps: int, T: int) -> int:
        """Return the step at which the last heat of a run ends; 0 if the run is too short for one.

        A run has the first heat if it ends in it, and later ones that end in its first half.

        Args:
            steps: number of mini-batches of the run.
            T: number of mini-batches of a window.
        """
        ended, heats = 0, 0
        while True:
            begins = max(ended, T * -(-self.begins(heats) // T))
            ends = begins + T * -(-self.lasts(heats) // T)
            # the last window of a run may be shorter than T, so the first heat may just fit
            too_late = ends > EARLY * steps if heats else begins + self.lasts(0) > steps
            if too_late:
                return ended
            ended = ends
            heats += 1

    def lasts(self, heats: int) -> int:
        """Return the mini-batches of the heat after this many heats."""
        return math.ceil(LATER * self.length) if heats else self.length
