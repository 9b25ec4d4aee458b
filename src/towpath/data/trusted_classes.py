"""Classes (of a table: tasks) whose labels are trusted, set apart from those of training.

They are taken in *sets* that tasks can be made of on their own: `ways` classes or a few more, of
one group where tasks stay within a group. So the trusted classes can be divided between training
and judging, and either part gives tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from towpath.data.errors import DataError
from towpath.data.pool import ClassPool
from towpath.data.randomness import Draws
from towpath.data.spec import EpisodeSpec
from towpath.data.streams import Pool


@dataclass(frozen=True, eq=False)
class SetApart:
    """A pool divided into trusted classes, in sets, and the rest."""

    pool: Pool
    sets: tuple[tuple[int, ...], ...]
    """positions of trusted classes (or table tasks), by set"""

    @property
    def trusted(self) -> Pool:
        """The trusted classes."""
        return part_of(self.pool, [i for own in self.sets for i in own])

    @property
    def rest(self) -> Pool:
        """All other classes, which training tasks are drawn from."""
        taken = {i for own in self.sets for i in own}
        left = [i for i in range(len(self.pool)) if i not in taken]
        if not left:
            raise DataError(
                f"All {len(self.pool)} classes of {self.pool.name} ({self.pool.split}) are "
                "trusted; expected some to train on. Lower trusted.classes."
            )
        return part_of(self.pool, left)

    def judging(self, share: float) -> tuple[Pool, Pool]:
        """Return the trusted classes to train on, and others to judge by.

        Args:
            share: the fraction that judges; at least one set does, and at least one does not.
        """
        count = len(self.sets)
        if count < 2:
            raise DataError(
                f"The trusted classes of {self.pool.name} make one set that tasks can be drawn "
                "from; a weighter that judges needs two, one to train on and one to judge by. "
                "Raise trusted.classes to at least twice the ways of a task."
            )
        judges = min(max(1, round(share * count)), count - 1)
        parts = self.sets[: count - judges], self.sets[count - judges :]
        trained, judging = ([i for own in part for i in own] for part in parts)
        return part_of(self.pool, trained), part_of(self.pool, judging)


def set_apart(pool: Pool, spec: EpisodeSpec, count: int, seed: int) -> SetApart:
    """Choose trusted classes of a pool (of a table: tasks) at random.

    Args:
        pool: the pool to choose from.
        spec: the tasks that are drawn from them.
        count: how many classes.
        seed: decides the choice.
    """
    least = _least(pool, spec)
    if not least <= count <= len(pool):
        raise DataError(
            f"trusted.classes is {count}; expected at least {least}, which a task needs, and at "
            f"most the {len(pool)} of {pool.name} ({pool.split}). Correct it."
        )
    number = count // least
    sizes = [count // number + (i < count % number) for i in range(number)]
    draws = Draws("trusted classes", seed, 0)
    left = {name: _shuffled(own, draws) for name, own in _regions(pool, spec).items()}
    sets = []
    for size in sizes:
        fits = [name for name, own in left.items() if len(own) >= size]
        # groups that tasks of training can still be drawn from afterwards come first
        good = [name for name in fits if len(left[name]) - size >= least] or fits
        if not good:
            raise DataError(
                f"trusted.classes is {count}, in sets of {size} classes of one group, and no group "
                f"of {pool.name} ({pool.split}) has as many left. Lower trusted.classes, or draw "
                "across groups with episodes.within_group: false."
            )
        name = good[draws.integer(0, len(good) - 1)]
        sets.append(tuple(left[name][:size]))
        left[name] = left[name][size:]
    return SetApart(pool, tuple(sets))


def all_trusted(pool: Pool, spec: EpisodeSpec, seed: int) -> SetApart:
    """Divide a pool all of whose classes are trusted into sets.

    Args:
        pool: the trusted classes, or table tasks.
        spec: the tasks that are drawn from them.
        seed: decides which classes make a set.
    """
    least = _least(pool, spec)
    draws = Draws("trusted classes", seed, 0)
    sets: list[tuple[int, ...]] = []
    for own in _regions(pool, spec).values():
        mixed, number = _shuffled(own, draws), len(own) // least
        sets += [tuple(mixed[i::number]) for i in range(number)]
    return SetApart(pool, tuple(sets))


def part_of(pool: Pool, positions: Sequence[int]) -> Pool:
    """Return the pool with the classes, or the table tasks, at these positions only.

    Args:
        pool: the whole pool.
        positions: positions in its classes or tasks.
    """
    kept = sorted(positions)
    if isinstance(pool, ClassPool):
        return replace(pool, classes=tuple(pool.classes[i] for i in kept))
    return replace(pool, tasks=tuple(pool.tasks[i] for i in kept))


def _least(pool: Pool, spec: EpisodeSpec) -> int:
    """The number of classes, or table tasks, that one task is made of."""
    return spec.ways if isinstance(pool, ClassPool) else 1


def _regions(pool: Pool, spec: EpisodeSpec) -> dict[str, tuple[int, ...]]:
    """Positions that one task may take together: those of a group, or all."""
    if isinstance(pool, ClassPool) and spec.within_group:
        return pool.groups
    return {"": tuple(range(len(pool)))}


def _shuffled(positions: Sequence[int], draws: Draws) -> list[int]:
    return [positions[i] for i in draws.distinct(len(positions), len(positions)).tolist()]
