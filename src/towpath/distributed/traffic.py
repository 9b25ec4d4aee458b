"""Bytes that the ranks of a run send each other, computed from (P, T, M, R).

The formulas are those of docs/scale.md; a benchmark and a test compare them with measurements. A
figure is what one rank sends to all others together. Sizes of a slice and of a share of the tasks
are rounded up, as they are when they are sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

NUMBER = 8
"""bytes of a loss, a flag or a sum over coordinates: float64, whatever the parameters are"""


@dataclass(frozen=True)
class Traffic:
    """The bytes that the first rank, which has the most tasks, sends to the others."""

    P: int
    T: int
    M: int
    ranks: int
    tensors: int = 0
    """number of named parameters: a flag for each tells whether a loss depends on it"""
    itemsize: int = 4
    """bytes of a parameter"""

    # the exchanges

    def known(self, tasks: int) -> int:
        """Return the bytes for sharing losses, accuracies and flags of a mini-batch with all."""
        share = -(-tasks // self.ranks)
        return (self.ranks - 1) * NUMBER * (3 * share + 1 + self.tensors)

    def total(self, numbers: int) -> int:
        """Return the bytes for adding up a few numbers over all coordinates."""
        return (self.ranks - 1) * NUMBER * numbers

    @property
    def _slice(self) -> int:
        return -(-self.P // self.ranks)

    @property
    def joined(self) -> int:
        """The bytes for making a vector whole on all ranks, of which each has its slice."""
        return self.itemsize * (self.ranks - 1) * self._slice

    @property
    def summed_part(self) -> int:
        """The bytes for adding up vectors over ranks, where each rank gets its slice of the sum."""
        return self.itemsize * (self.P - self._slice)

    def columns(self, tasks: int) -> int:
        """Return the bytes for sending a rank's gradients to the owners of their coordinates."""
        return -(-tasks // self.ranks) * self.summed_part

    # a stage of a window

    @property
    def weighted_stage(self) -> int:
        """The bytes for evaluating a mini-batch for one weighted gradient."""
        return self.known(self.M) + self.summed_part + self.joined

    def modelled_stage(self, curvatures: int) -> int:
        """Return the bytes for a mini-batch's single gradients and some weighted curvature sums."""
        sums = curvatures * self.summed_part
        return self.known(self.M) + self.columns(self.M) + self.joined + sums

    # whole windows

    def uniform_window(self) -> int:
        """Return the bytes for T steps with a weighter that uses losses only."""
        return self.T * self.weighted_stage

    def tow_window(self, trials: Sequence[int] = (1, 1)) -> int:
        """Return the bytes for a window of `TOW(acceptance="strict")`.

        Args:
            trials: number of full trials of the line search in each iteration.
        """
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
        """Return the bytes for a window of `TOW.towards_targets()`.

        Args:
            targets: number of targets of a mini-batch.
            trials: number of trials of the line search.
        """
        nominal = self.T * (self.modelled_stage(0) + self.known(targets) + self.columns(targets))
        # two halves, g0, and the direction, whose cost has no curvature
        sums = 4 * self.total(self.T * self.M) + self.total(1)
        trial = self.joined + (self.T - 1) * self.weighted_stage + self.T * self.known(targets)
        return nominal + sums + trials * trial
