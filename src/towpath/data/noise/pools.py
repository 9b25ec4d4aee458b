"""Noise in the labels of a pool: some images are filed under a class that is not theirs.

It is decided once for a whole training, from the seed alone: every task, worker and resumed run
sees the same wrong labels. Images exchange their places, so every class keeps its size. No pixel
is copied: a `Relabelled` says for each place of a class which image is there.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.data.pool import ClassPool
from towpath.data.randomness import Draws

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Relabelled:
    """Where the images of each class of a pool really belong."""

    classes: tuple[Positions, ...]  # for each class, the true class of each of its places
    rows: tuple[Positions, ...]  # for each class, the row in the true class of each of its places

    def wrong(self, position: int, rows: Positions) -> int:
        """Return how many of these places of a class hold an image of another class."""
        return int((self.classes[position][rows] != position).sum())

    def take(self, pool: ClassPool, position: int, rows: Positions) -> NDArray[np.uint8]:
        """Return the images `[len(rows), C, H, W]` at these places of a class.

        Args:
            pool: the pool with the right labels.
            position: the class, as an index into the pool's classes.
            rows: places of the class, numbered 0..count-1.
        """
        owners, own_rows = self.classes[position][rows], self.rows[position][rows]
        taken = np.empty((len(rows), *pool.input_shape), dtype=pool.images.dtype)
        for owner in np.unique(owners):
            here = owners == owner
            taken[here] = pool.take(int(owner), own_rows[here])
        return taken


class PoolNoise(ABC):
    """A noise that files images of a pool under wrong classes, once for a whole training."""

    share_of: ClassVar[str]
    """what `label_noise` is a share of"""
    in_every_task: ClassVar[bool] = True
    """whether nearly every task has some wrong labels, so that none of them is simply clean"""

    @abstractmethod
    def relabelled(self, pool: ClassPool, share: float, draws: Draws) -> Relabelled:
        """Return the pool's images in their places after the noise.

        Args:
            pool: the pool with the right labels.
            share: how much of it is noisy, 0 to 1.
            draws: randomness of the noise; not that of any task.
        """


@dataclass(frozen=True)
class MovedImages(PoolNoise):
    """A share of the images carries the label of another class (Killamsetty et al. 2022).

    The chosen images exchange their places so that none stays in its class. Where one class has
    more than half of the chosen images, the surplus stays where it is.
    """

    share_of: ClassVar[str] = "images"

    def relabelled(self, pool: ClassPool, share: float, draws: Draws) -> Relabelled:
        """Choose the images among those of all classes, and exchange them across classes."""
        owner, _ = _places(pool)
        chosen = draws.distinct(len(owner), round(share * len(owner)))
        chosen = _without_surplus(chosen, owner)
        moved = np.arange(len(owner))
        moved[chosen] = chosen[_exchange(owner[chosen], draws)]
        return _relabelled(pool, moved)


@dataclass(frozen=True)
class DealtClasses(PoolNoise):
    """All images of a share of the classes are dealt among these classes at random.

    By chance some images come back to their own class, and are then right.
    """

    share_of: ClassVar[str] = "classes"

    def relabelled(self, pool: ClassPool, share: float, draws: Draws) -> Relabelled:
        """Choose the classes, and deal their images; a single class cannot be dealt."""
        count = round(share * len(pool))
        if count < 2:
            raise DataError(
                f"label_noise {share:g} of the {len(pool)} classes of {pool.name} ({pool.split}) "
                f"is {count}; noise of the kind 'classes' deals the images of at least 2 among "
                "each other. Raise label_noise."
            )
        owner, _ = _places(pool)
        chosen = np.flatnonzero(np.isin(owner, draws.distinct(len(pool), count)))
        moved = np.arange(len(owner))
        moved[chosen] = chosen[draws.distinct(len(chosen), len(chosen))]
        return _relabelled(pool, moved)


def _places(pool: ClassPool) -> tuple[Positions, Positions]:
    """Class and row of each place of a pool, class by class."""
    counts = [entry.count for entry in pool.classes]
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.concatenate([np.arange(count) for count in counts])


def _relabelled(pool: ClassPool, moved: Positions) -> Relabelled:
    """The pool with image `moved[i]` in place i."""
    owner, row = _places(pool)
    ends = np.cumsum([entry.count for entry in pool.classes])[:-1]
    return Relabelled(
        tuple(np.split(owner[moved], ends)),
        tuple(np.split(row[moved], ends)),
    )


def _without_surplus(chosen: Positions, owner: Positions) -> Positions:
    """The chosen places, less those of the largest class that no other class can take."""
    counts = np.bincount(owner[chosen], minlength=1)
    largest = int(counts.argmax())
    surplus = max(0, int(2 * counts[largest] - counts.sum()))
    if not surplus:
        return chosen
    return np.delete(chosen, np.flatnonzero(owner[chosen] == largest)[:surplus])


def _exchange(owner: Positions, draws: Draws) -> Positions:
    """A random permutation in which nothing comes to a place of its own class.

    It starts from one that surely has the property (the places in order of class, turned by the
    size of the largest class) and exchanges random pairs where both remain apart: what a shuffle
    does, with the exchanges that would break it left out.
    """
    count = len(owner)
    if not count:
        return np.arange(0)
    by_class = np.argsort(owner, kind="stable")
    turned = np.roll(by_class, int(np.bincount(owner).max()))
    moved = np.empty(count, dtype=np.int64)
    moved[by_class] = turned
    for _ in range(SHUFFLES):
        for here, there in enumerate(draws.distinct(count, count).tolist()):
            one, other = moved[here], moved[there]
            if owner[other] != owner[here] and owner[one] != owner[there]:
                moved[here], moved[there] = other, one
    return moved


SHUFFLES = 10
"""passes of random exchanges; each leaves about two fifths of the order that it began with"""
