"""Which trusted tasks have labels that mean nothing, by the evidence of all of them together.

`z [n]` is the label evidence of the tasks (`towpath.label_evidence`). Wrong labels have
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

from towpath.weighters.rules.right_labels import LabelFit

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
FIT = LabelFit(LEAST_SPREAD)


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
    labels = FIT(z)
    if labels.right.mean < APART:
        return ()
    wrong = (labels.wrong_posterior(z) >= SURE) & (z < labels.right.mean)
    if wrong.any() and float(z[wrong].mean()) > CHANCE / math.sqrt(int(wrong.sum())):
        return ()  # hard, not wrong: together their labels mean something
    return tuple(i for i, flag in zip(known, wrong, strict=True) if flag)
