"""What the ranks of a run send each other, in bytes, from (P, T, M, R): the formulas of
docs/scale.md, which a benchmark and a test compare with what is sent.

A figure is what one rank sends to all others together. Sizes of a slice and of a share of the tasks
are rounded up, as they are when they are sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

NUMBER = 8
"""bytes of a loss, a flag or a sum over coordinates: float64, whatever the parameters are"""


@dataclass(frozen=True)
class Traffic:
    """Of the first rank, which has the most tasks."""

    P: int
    T: int
    M: int
    ranks: int
    tensors: int = 0
    """parameters by name: a flag each says whether a loss depends on it"""
    itemsize: int = 4
    """bytes of a parameter"""

    # the exchanges

    def known(self, tasks: int) -> int:
        """Losses, accuracies and flags of a mini-batch, known to all."""
        share = -(-tasks // self.ranks)
        return (self.ranks - 1) * NUMBER * (3 * share + 1 + self.tensors)

    def total(self, numbers: int) -> int:
        """A few sums over coordinates."""
        return (self.ranks - 1) * NUMBER * numbers

    @property
    def _slice(self) -> int:
        return -(-self.P // self.ranks)

    @property
    def joined(self) -> int:
        """A vector of which each rank has its slice, whole on all."""
        return self.itemsize * (self.ranks - 1) * self._slice

    @property
    def summed_part(self) -> int:
        """A sum of vectors over ranks, each rank its slice of it."""
        return self.itemsize * (self.P - self._slice)

    def columns(self, tasks: int) -> int:
        """The gradients of a rank's own tasks, to the ranks that own their coordinates."""
        return -(-tasks // self.ranks) * self.summed_part

    # a stage of a window

    @property
    def weighted_stage(self) -> int:
        """Tasks evaluated for one weighted gradient."""
        return self.known(self.M) + self.summed_part + self.joined

    def modelled_stage(self, curvatures: int) -> int:
        """Tasks evaluated for single gradients and some weighted sums of curvatures."""
        sums = curvatures * self.summed_part
        return self.known(self.M) + self.columns(self.M) + self.joined + sums

    # whole windows

    def uniform_window(self) -> int:
        """T steps with a weighter that looks at losses only."""
        return self.T * self.weighted_stage

    def tow_window(self, trials: Sequence[int] = (1, 1)) -> int:
        """`TOW()`: trials of each iteration, whole ones."""
        TM, later = self.T * self.M, self.T - 1
        modelled = self.modelled_stage(2)
        sent = self.modelled_stage(0) + later * modelled  # the nominal
        for i, count in enumerate(trials):
            sent += self.total(TM) + self.total(TM * TM) + self.total(1)
            last = i == len(trials) - 1
            stages = later * (self.weighted_stage if last else modelled)
            sent += count * (self.joined + stages)
        return sent

    def targets_window(self, targets: int, trials: int = 1) -> int:
        """`TOW.towards_targets()` with so many targets a mini-batch."""
        nominal = self.T * (self.modelled_stage(0) + self.known(targets) + self.columns(targets))
        # two halves, g0, and the direction, whose cost has no curvature
        sums = 4 * self.total(self.T * self.M) + self.total(1)
        trial = self.joined + (self.T - 1) * self.weighted_stage + self.T * self.known(targets)
        return nominal + sums + trials * trial
