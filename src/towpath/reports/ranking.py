"""Which classes, or groups, make tasks suspect: effects that are estimated from whole tasks.

A task has several classes and only one value y (its weight, or its loss, relative to the mean of
its mini-batch). So that a class is not blamed for the company that it kept, all effects are
estimated together:

    y = mu + X b + e,    b ~ N(0, tau^2),    e ~ N(0, sigma^2)

with X [n, K] the amount of class k in task i, n tasks and K classes. The estimate of b is a ridge
regression with the penalty sigma^2 / tau^2, which is chosen where the values are most likely
(empirical Bayes): what was seen seldom stays near the mean, and where classes differ little, their
estimates do so too. A factor tau in the likelihood keeps tau from 0, where all intervals would be
of width 0 (Chung et al. 2013, "A nondegenerate penalized likelihood estimator"). The posterior of b
gives the intervals.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar

from towpath.runs.task_values import NORMAL_95

Array: TypeAlias = NDArray[np.float64]
PENALTIES = (-12.0, 14.0)
"""natural logarithms of the smallest and the largest penalty that is tried"""


@dataclass(frozen=True)
class Effect:
    """One class or group: the value that is expected of a task with one unit of it."""

    name: str
    value: float
    half: float
    """half-width of the 95% interval"""
    tasks: int
    """number of tasks that it was a part of"""
    mean: float
    """the value of an average task, which no effect at all would give"""

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.value + self.half

    @property
    def differs(self) -> bool:
        """Whether the interval lies wholly on one side of the average task."""
        return abs(self.value - self.mean) > self.half


@dataclass(frozen=True)
class Ranking:
    """The effects of all classes, or of all groups, the lowest value first."""

    effects: list[Effect]
    reliability: float
    """share of the spread between the estimates that is not their uncertainty: near 1 where the
    classes are told apart, near 0 where the values say little about them"""


def ranking(values: Sequence[float], amounts: Sequence[Mapping[str, float]]) -> Ranking:
    """Estimate the effect of every class, or group, of some tasks.

    Args:
        values: the value of each task.
        amounts: for each task, how much of each class (1 for each that it has) or of each group
            (the share of the task's classes) is in it; a task with nothing in it is left out.
    """
    found = effects(values, amounts)
    spread = float(np.var([effect.value for effect in found])) if found else 0.0
    doubt = float(np.mean([(effect.half / NORMAL_95) ** 2 for effect in found])) if found else 0.0
    return Ranking(found, spread / (spread + doubt) if spread else 0.0)


def effects(values: Sequence[float], amounts: Sequence[Mapping[str, float]]) -> list[Effect]:
    """Return the effects of `ranking` without their reliability, the lowest value first.

    Args:
        values: the value of each task.
        amounts: for each task, how much of each name is in it.
    """
    used = [i for i, own in enumerate(amounts) if own]
    if not used:
        return []
    names = sorted({name for i in used for name in amounts[i]})
    y = np.array([values[i] for i in used], dtype=np.float64)  # [n]
    X = _design([amounts[i] for i in used], names)  # [n, K]
    counts = np.diff(X.tocsc().indptr)  # [K]
    mu = float(y.mean())
    b, deviation = _posterior(X, y - mu)
    found = [
        Effect(name, mu + float(b[k]), NORMAL_95 * float(deviation[k]), int(counts[k]), mu)
        for k, name in enumerate(names)
    ]
    return sorted(found, key=lambda effect: (effect.value, effect.name))


def _design(amounts: Sequence[Mapping[str, float]], names: Sequence[str]) -> sparse.csr_matrix:
    """Return how much of each name (column) is in each task (row)."""
    column = {name: k for k, name in enumerate(names)}
    rows = np.repeat(np.arange(len(amounts)), [len(own) for own in amounts])
    columns = [column[name] for own in amounts for name in own]
    content = [amount for own in amounts for amount in own.values()]
    return sparse.csr_matrix((content, (rows, columns)), shape=(len(amounts), len(names)))


def _posterior(X: sparse.csr_matrix, y: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of b, with the penalty of the largest likelihood.

    In the eigenbasis of X^T X = V diag(d) V^T every penalty costs a few vector operations.
    """
    n, K = X.shape
    d, V = np.linalg.eigh((X.T @ X).toarray())  # [K], [K, K]
    d = np.clip(d, 0.0, None)
    r = V.T @ (X.T @ y)  # [K]
    total = float(y @ y)
    if total <= 1e-20 * n:  # equal values: nothing differs, and nothing is uncertain
        return np.zeros(K), np.zeros(K)

    def variance(penalty: float) -> float:
        """Return the sigma^2 of the largest likelihood under a penalty."""
        return max(total - float(np.sum(r**2 / (d + penalty))), 1e-12 * total) / n

    def deviance(log_penalty: float) -> float:
        """Return minus twice the logarithm of tau times the likelihood, up to a constant."""
        log_sigma2 = math.log(variance(math.exp(log_penalty)))
        log_tau2 = log_sigma2 - log_penalty
        return n * log_sigma2 + float(np.sum(np.log1p(d / math.exp(log_penalty)))) - log_tau2

    penalty = math.exp(minimize_scalar(deviance, bounds=PENALTIES, method="bounded").x)
    sigma2 = variance(penalty)
    b = V @ (r / (d + penalty))
    spread = (V**2) @ (sigma2 / (d + penalty))
    return b, np.sqrt(spread)
