"""Streams that mix tasks of several pools: off-target tasks among those that training is about.

Which pool the task at an index comes from is a pure function of (seed, stream, index), as the task
itself is. Tasks of the other pools are drawn as the training's own are, but with right labels.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from towpath.data.augmentation import AugmentedStream
from towpath.data.episode import Episode
from towpath.data.errors import DataError
from towpath.data.noise import OffTarget
from towpath.data.randomness import Draws
from towpath.data.spec import EpisodeSpec
from towpath.data.streams import Pool, TaskStream, WrappedStream, stream_of
from towpath.data.summary import Summary


@dataclass(frozen=True, eq=False)
class OtherStream:
    """Tasks of another pool, and their share of the mixed stream."""

    share: float
    tasks: TaskStream


@dataclass(frozen=True, eq=False)
class MixedStream(WrappedStream):
    """A stream whose task at an index comes from its own pool or from one of the others.

    Every task records `off_target` in its `info`; a task across groups is of the group that has
    its set's name, so that sets can be told apart wherever groups are.
    """

    others: tuple[OtherStream, ...]

    def __post_init__(self) -> None:
        shares = [other.share for other in self.others]
        if not all(0.0 <= share <= 1.0 for share in shares) or sum(shares) > 1.0 + 1e-9:
            raise DataError(
                f"The shares of the other pools are {shares}; expected numbers from 0 to 1 that "
                "add up to at most 1. Lower them."
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user on what of the pools is not drawn, and why."""
        return tuple(note for tasks in self._streams for note in tasks.notes)

    @property
    def group_frequencies(self) -> dict[str, float]:
        """The probability of each group of all pools; groups of one name are counted together."""
        rest = 1.0 - sum(other.share for other in self.others)
        found: dict[str, float] = {}
        shares = [rest, *(other.share for other in self.others)]
        for share, tasks in zip(shares, self._streams, strict=True):
            for name, chance in tasks.group_frequencies.items():
                found[name] = found.get(name, 0.0) + share * chance
        return found

    @property
    def _streams(self) -> tuple[TaskStream, ...]:
        return (self.own, *(other.tasks for other in self.others))

    def source(self, index: int) -> TaskStream:
        """Return the stream that the task at `index` comes from."""
        left = Draws(f"{self.stream}/mix", self.seed, index).uniform()
        for other in self.others:
            if left < other.share:
                return other.tasks
            left -= other.share
        return self.own

    def episode(self, index: int) -> Episode:
        """Return the task at `index`, the same whenever and wherever it is drawn."""
        source = self.source(index)
        task = source.episode(index)
        info = {**task.info, "off_target": source is not self.own}
        return replace(task, info={**info, "group": info["group"] or info["set"]})

    def group_of(self, index: int) -> str:
        """Return the group of the task at `index`, in its own pool."""
        return self.source(index).group_of(index)

    def summarise(self, indices: Iterable[int]) -> Summary:
        """Count groups, capped shots and mislabelled tasks; no input is read."""
        by_stream: dict[int, list[int]] = {place: [] for place in range(len(self._streams))}
        for index in indices:
            by_stream[self._streams.index(self.source(index))].append(index)
        parts = [self._streams[place].summarise(own) for place, own in by_stream.items()]
        return Summary.together(parts)


def mixed(
    pool: Pool,
    others: Sequence[tuple[float, Pool]],
    spec: EpisodeSpec,
    seed: int = 0,
    stream: str = "episodes",
) -> MixedStream:
    """Return a stream of tasks of a pool and, by their shares, of other pools.

    Args:
        pool: what the tasks that training is about are made of.
        others: the share of the tasks that comes from each of the other pools.
        spec: the distribution of the tasks; its label noise is that of the own tasks alone.
        seed: the seed of the draws.
        stream: the purpose of the tasks.
    """
    own = spec.clean if isinstance(spec.noise, OffTarget) else spec
    right = replace(spec.clean, groups="auto")
    return MixedStream(
        stream_of(pool, own, seed, stream),
        tuple(
            OtherStream(share, stream_of(other, right, seed, f"{stream}/{place} {other.name}"))
            for place, (share, other) in enumerate(others)
        ),
    )


def own_stream(tasks: TaskStream) -> TaskStream:
    """Return the stream of the tasks that training is about, without a mix or augmentation."""
    while isinstance(tasks, MixedStream | AugmentedStream):
        tasks = tasks.own
    return tasks
