"""Which trusted tasks have labels that mean nothing, by the evidence of all of them together.

`z [n]` is the label evidence of the tasks (`towpath.training.label_evidence`). Wrong labels have
`z ~ N(0, 1)`, known beforehand; right ones have `z ~ N(m, s^2)`, which depends on how much the
network has learned and is fitted to the tasks themselves by expectation maximisation, with the
share of wrong ones. A task is doubted if it is wrong with a probability of at least 0.9 (a local
false discovery rate, Efron 2004). Hard tasks with right labels have little evidence as well, but
some: the doubted ones are asked together whether their mean is above 0 beyond chance, and if it is,
none is doubted. What is left is that a task of which the network knows nothing at all looks like a
wrong one.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from towpath.weighters.rules.selection import Gaussian

Array = npt.NDArray[np.float64]

ENOUGH_TASKS = 4
"""fewer tasks say nothing about one another"""
SURE = 0.9
"""the probability of being wrong from which on a task is doubted"""
APART = 3.0
"""the least mean evidence of right labels at which single tasks are doubted"""
LEARNT = 4.0
"""the evidence of a quarter of the fresh training tasks that shows that the network has learned"""
LEAST_SPREAD = 1.5
"""the least standard deviation of the evidence of right labels: it has a tail of hard tasks, which
a normal distribution has not"""
CHANCE = 2.0
"""the largest mean evidence of labels without meaning, in standard errors"""
ITERATIONS = 100
FEW_WRONG = (0.5, 1.5)
"""tasks that are added to the wrong and to the right ones before their shares are taken: most
trusted tasks are right"""


def doubted(evidence: Sequence[float], training: Sequence[float]) -> tuple[int, ...]:
    """Return the positions of the tasks whose labels say no more than shuffled ones would.

    All tasks are doubted together if their evidence is not above 0 beyond chance although the
    network has learned: it tells the labels of fresh training tasks from shuffled ones.

    Args:
        evidence: that of each trusted task; NaN where it is undefined.
        training: that of fresh training tasks, some of which may be wrong.
    """
    known = [i for i, z in enumerate(evidence) if math.isfinite(z)]
    z = np.array([evidence[i] for i in known], dtype=np.float64)
    if len(z) < ENOUGH_TASKS:
        return ()
    mean = float(z.mean())
    fresh = [value for value in training if math.isfinite(value)]
    if fresh and float(np.quantile(fresh, 0.75)) >= LEARNT and mean <= CHANCE / math.sqrt(len(z)):
        return tuple(known)
    right = _right_labels(z)
    if right.mean < APART:
        return ()
    wrong = (_posterior(z, right) >= SURE) & (z < right.mean)
    if wrong.any() and float(z[wrong].mean()) > CHANCE / math.sqrt(int(wrong.sum())):
        return ()  # hard, not wrong: together their labels mean something
    return tuple(i for i, flag in zip(known, wrong, strict=True) if flag)


def _right_labels(z: Array) -> Gaussian:
    """Fit the distribution of the evidence of right labels, with their share.

    The fit starts from most tasks being right and from few being so, and keeps the likelier one.
    """
    ordered = np.sort(z)
    starts = [
        Gaussian(share, float(ordered[-k:].mean()), LEAST_SPREAD)
        for share, k in ((0.9, max(1, len(z) // 2)), (0.3, max(1, len(z) // 4)))
    ]
    return max((_fitted(z, start) for start in starts), key=lambda right: _likelihood(z, right))


def _fitted(z: Array, right: Gaussian) -> Gaussian:
    """Return the distribution that expectation maximisation finds from a start."""
    for _ in range(ITERATIONS):
        members = 1.0 - _posterior(z, right)
        total = float(members.sum())
        if total < 1e-9:
            break  # nothing is left to fit to
        mean = float(members @ z) / total
        deviation = math.sqrt(float(members @ (z - mean) ** 2) / total)
        share = (total + FEW_WRONG[1]) / (len(z) + sum(FEW_WRONG))
        right = Gaussian(share, mean, max(LEAST_SPREAD, deviation))
    return right


def _likelihood(z: Array, right: Gaussian) -> float:
    """Return the logarithm of the likelihood, with the tasks that are added to the shares."""
    wrong = Gaussian(1.0 - right.share, 0.0, 1.0)
    added = FEW_WRONG[0] * math.log(wrong.share) + FEW_WRONG[1] * math.log(right.share)
    return float(np.logaddexp(right.log_density(z), wrong.log_density(z)).sum()) + added


def _posterior(z: Array, right: Gaussian) -> Array:
    """Return the probability of each task to be wrong."""
    wrong = Gaussian(1.0 - right.share, 0.0, 1.0)
    chance: Array = np.exp(-np.logaddexp(0.0, right.log_density(z) - wrong.log_density(z)))
    return chance
