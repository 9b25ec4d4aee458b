"""Right and wrong labels told apart by their evidence (`towpath.label_evidence`), over many tasks.

    z  [n]   the evidence of the tasks
    wrong    z ~ N(0, d^2): labels without meaning have d = 1, known beforehand. A task whose
             support labels are permuted class by class has some classes right by chance, so d may
             be fitted above 1
    right    z ~ N(m, s^2): how much the network has learned decides m, so it is fitted

Expectation maximisation fits m, s, the share of right tasks and, where it is free, d. Nothing is
assumed of a share of wrong tasks: where there are none, the fit finds next to none. Right tasks of
two kinds, easy and hard, are no mixture of this form. What gives them away is that the tasks which
the fit takes for wrong have a mean above 0, however wide their distribution is.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from towpath.weighters.rules.selection import Gaussian

Array = npt.NDArray[np.float64]
FEW_WRONG = (0.5, 1.5)
"""tasks that are added to the wrong and to the right ones before their shares are taken: most tasks
are right"""


@dataclass(frozen=True)
class Labels:
    """The distributions of the evidence of right and of wrong labels."""

    right: Gaussian
    wrong_deviation: float = 1.0

    @property
    def wrong(self) -> Gaussian:
        """The distribution of the evidence of labels that mean nothing."""
        return Gaussian(1.0 - self.right.share, 0.0, self.wrong_deviation)

    def wrong_posterior(self, z: Array) -> Array:
        """Return the probability of each task to be wrong."""
        odds = self.right.log_density(z) - self.wrong.log_density(z)
        chance: Array = np.exp(-np.logaddexp(0.0, odds))
        return chance

    def falling_posterior(self, z: Array) -> Array:
        """Return the probability of each task to be wrong, made non-increasing in the evidence.

        Far below 0 the wider distribution is the likelier one, which may be that of right labels;
        and above the mean of right labels nothing speaks against a task.
        """
        right, d = self.right, self.wrong_deviation
        at = np.minimum(z, right.mean)
        if right.deviation > d:  # the log odds of being wrong have their maximum here
            a, b = right.deviation**-2, d**-2
            at = np.maximum(at, -a * right.mean / (b - a))
        return self.wrong_posterior(at)

    def takes_hard_for_wrong(self, z: Array, above: float = 0.0) -> bool:
        """Return whether the tasks that are taken for wrong have labels that mean something.

        Their mean evidence is then higher than a number by more than two standard errors.

        Args:
            z: the evidence that the distributions were fitted to.
            above: the number.
        """
        wrong = self.wrong_posterior(z)
        count = max(float(wrong.sum()), 1.0)
        error = self.wrong_deviation / math.sqrt(count)
        return float(wrong @ z) / count > above + 2.0 * error

    def likelihood(self, z: Array) -> float:
        """Return the logarithm of the likelihood, with the tasks that are added to the shares."""
        right, wrong = self.right, self.wrong
        added = FEW_WRONG[0] * math.log(wrong.share) + FEW_WRONG[1] * math.log(right.share)
        return float(np.logaddexp(right.log_density(z), wrong.log_density(z)).sum()) + added


@dataclass(frozen=True)
class LabelFit:
    """How the two distributions are fitted.

    Args:
        least_spread: the least standard deviation of the evidence of right labels.
        widest_wrong: the largest standard deviation of the evidence of wrong labels, as a share of
            the mean of right ones; 0 to leave it at 1.
        iterations: of expectation maximisation.
    """

    least_spread: float
    widest_wrong: float = 0.0
    iterations: int = 100

    def __call__(self, z: Array) -> Labels:
        """Return the distributions that fit the evidence `[n]` of some tasks, at least one.

        The fit starts from most tasks being right and from few being so, and keeps the likelier. If
        it takes hard tasks for wrong ones of a wide distribution, it is made again with d = 1.
        """
        found = self._likeliest(z)
        if found.wrong_deviation > 1.0 and found.takes_hard_for_wrong(z):
            return replace(self, widest_wrong=0.0)._likeliest(z)
        return found

    def _likeliest(self, z: Array) -> Labels:
        ordered = np.sort(z)
        starts = [
            Labels(Gaussian(share, float(ordered[-k:].mean()), self.least_spread))
            for share, k in ((0.9, max(1, len(z) // 2)), (0.3, max(1, len(z) // 4)))
        ]
        return max((self._from(z, start) for start in starts), key=lambda one: one.likelihood(z))

    def _from(self, z: Array, now: Labels) -> Labels:
        for _ in range(self.iterations):
            wrong = now.wrong_posterior(z)
            members = 1.0 - wrong
            total = float(members.sum())
            if total < 1e-9:
                break  # nothing is left to fit to
            mean = float(members @ z) / total
            deviation = math.sqrt(float(members @ (z - mean) ** 2) / total)
            share = (total + FEW_WRONG[1]) / (len(z) + sum(FEW_WRONG))
            now = Labels(
                Gaussian(share, mean, max(self.least_spread, deviation)),
                self._wrong_deviation(z, wrong, mean),
            )
        return now

    def _wrong_deviation(self, z: Array, wrong: Array, mean: float) -> float:
        most, total = self.widest_wrong * mean, float(wrong.sum())
        if most <= 1.0 or total <= 1.0:
            return 1.0
        return min(max(1.0, math.sqrt(float(wrong @ z**2) / total)), most)
