"""Noise in the labels of single tasks: permuted within a task, or flipped one by one.

Each task is noisy with a given probability, independently of the others. Shapes: `support_y [S]`,
`query_y [Q]`, labels 0..ways-1, or real targets of a regression for a noise that only permutes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from towpath.data.randomness import Draws

Labels = NDArray[Any]  # int64 labels, or float targets of a regression
PARTS = ("support", "query", "both")
_TRIES = 50  # at flips that leave every class a sample


@dataclass(frozen=True, eq=False)
class NoisyLabels:
    """The labels of a task after noise, and how many of them are wrong."""

    support_y: Labels  # [S]
    query_y: Labels  # [Q]
    wrong_share: float = 0.0
    """wrong labels divided by all labels of the task, support and query; 0 for a clean task"""


class LabelNoise(ABC):
    """A noise that makes labels of one task wrong."""

    share_of: ClassVar[str] = "tasks"
    """what `label_noise` is a share of"""
    in_every_task: ClassVar[bool] = False
    """whether nearly every task has some wrong labels, so that none of them is simply clean"""
    needs_classes: ClassVar[bool] = False
    """whether labels must be classes, so that a regression task cannot have this noise"""

    @abstractmethod
    def corrupted(
        self, support_y: Labels, query_y: Labels, ways: int, draws: Draws
    ) -> tuple[Labels, Labels]:
        """Return the support and query labels of a noisy task."""

    def apply(self, support_y: Labels, query_y: Labels, ways: int, draws: Draws) -> NoisyLabels:
        """Return the labels of a noisy task, with the share of them that is wrong.

        Args:
            support_y: the right labels of the support set.
            query_y: the right labels of the query set.
            ways: number of classes of the task.
            draws: randomness of the task's noise.
        """
        support, query = self.corrupted(support_y, query_y, ways, draws)
        wrong = int((support != support_y).sum()) + int((query != query_y).sum())
        return NoisyLabels(support, query, wrong / (len(support_y) + len(query_y)))


@dataclass(frozen=True)
class Permuted(LabelNoise):
    """The labels of one part of the task in a random order that is not the old one."""

    part: str
    """`support` or `query`"""

    def corrupted(
        self, support_y: Labels, query_y: Labels, ways: int, draws: Draws
    ) -> tuple[Labels, Labels]:
        """Permute the labels of the part; the other part stays right."""
        del ways  # a permutation needs no names of classes
        if self.part == "query":
            return support_y, _permuted(query_y, draws)
        return _permuted(support_y, draws), query_y


@dataclass(frozen=True)
class Flipped(LabelNoise):
    """Every label becomes one of the other classes with a probability (Yao et al. 2021, ATS).

    The support set keeps every class, since nothing could be learned of a class without a sample:
    where flips would empty one, the samples that flip draw other classes again, and if that does
    not help, as with one sample a class, they exchange their labels among each other. One sample
    that flips alone then stays right. A noisy task may so keep all its labels; it counts as clean.
    """

    needs_classes: ClassVar[bool] = True

    probability: float = 0.8
    part: str = "both"
    """`support`, `query`, or `both`"""

    def corrupted(
        self, support_y: Labels, query_y: Labels, ways: int, draws: Draws
    ) -> tuple[Labels, Labels]:
        """Flip labels independently, each other class being equally likely."""
        # both parts are always drawn, so that the flips of one do not depend on `part`
        flips = self._chosen(support_y, draws)
        support = _moved(support_y, flips, ways, draws)
        query = _moved(query_y, self._chosen(query_y, draws), ways, draws)
        # last, so that the flips of the query do not depend on it
        support = _with_every_class(support, support_y, flips, ways, draws)
        return (
            support_y if self.part == "query" else support,
            query_y if self.part == "support" else query,
        )

    def _chosen(self, labels: Labels, draws: Draws) -> NDArray[np.bool_]:
        """Which labels flip."""
        return np.array([draws.uniform() < self.probability for _ in labels])


def _moved(labels: Labels, flips: NDArray[np.bool_], ways: int, draws: Draws) -> Labels:
    """The labels with those that flip moved to another class, each other one alike."""
    away = np.array([draws.integer(1, ways - 1) for _ in labels])
    return np.where(flips, (labels + away) % ways, labels)


def _with_every_class(
    flipped: Labels, right: Labels, flips: NDArray[np.bool_], ways: int, draws: Draws
) -> Labels:
    """The flipped labels, flipped otherwise where they leave out a class of the right ones.

    Which samples flip stays as it is, so that the share of flips does too, as far as possible.
    """
    for _ in range(_TRIES):
        if len(np.unique(flipped)) == len(np.unique(right)):
            return flipped
        flipped = _moved(right, flips, ways, draws)
    # An exchange leaves every class its number of samples. Of several, that with most changes.
    own = right[flips]
    orders = [draws.distinct(len(own), len(own)) for _ in range(_TRIES)]
    exchanged = right.copy()
    exchanged[flips] = own[max(orders, key=lambda order: int((own[order] != own).sum()))]
    return exchanged


def noisy_labels(
    noise: LabelNoise, share: float, support_y: Labels, query_y: Labels, ways: int, draws: Draws
) -> NoisyLabels:
    """Decide whether a task is noisy, and return its labels.

    Args:
        noise: what happens to the labels of a noisy task.
        share: the probability of a task to be noisy.
        support_y: the right labels of the support set.
        query_y: the right labels of the query set.
        ways: number of classes of the task.
        draws: `Draws(f"{stream}/noise", seed, index)`, a stream of its own, so that the noisy task
            is the clean one but for its labels.
    """
    if draws.uniform() < share:
        return noise.apply(support_y, query_y, ways, draws)
    return NoisyLabels(support_y, query_y)


def _permuted(labels: Labels, draws: Draws) -> Labels:
    """The labels in a random order that is not the old one."""
    while True:
        shuffled = labels[draws.distinct(len(labels), len(labels))]
        if not np.array_equal(shuffled, labels):
            return shuffled
