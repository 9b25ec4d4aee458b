"""Streams of tasks, whatever they are made of: images by class, or rows of a table.

The task at an index is a pure function of (seed, stream, index). Training, validation, tests,
probes and trusted tasks take a `TaskStream`, so none of them knows where its tasks come from.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from towpath.data.episode import Episode
from towpath.data.pool import ClassPool
from towpath.data.sampler import EpisodeSampler
from towpath.data.shape import TaskShape
from towpath.data.spec import EpisodeSpec
from towpath.data.summary import Summary
from towpath.data.tables.pool import TablePool
from towpath.data.tables.sampler import TableSampler

Pool: TypeAlias = ClassPool | TablePool
"""The tasks of one split of a data set. Both kinds have `name`, `split`, `content`, `notes`,
`synthetic`, `input_shape`, `groups`, `only`, `at_least` and `describe`."""


class TaskStream(Protocol):
    """An endless sequence of tasks, drawn from a pool by index."""

    @property
    def spec(self) -> EpisodeSpec:
        """The distribution of the tasks."""
        ...

    @property
    def pool(self) -> Pool:
        """What the tasks are made of; of a mix, what those are made of that training is about."""
        ...

    @property
    def seed(self) -> int:
        """The seed of the draws."""
        ...

    @property
    def stream(self) -> str:
        """The purpose of the tasks; streams of other purposes are independent."""
        ...

    @property
    def group_frequencies(self) -> dict[str, float]:
        """The probability of each group of the pool that tasks are drawn from."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user on what of the pool is not drawn, and why."""
        ...

    def episode(self, index: int) -> Episode:
        """Return the task at `index`, the same whenever and wherever it is drawn."""
        ...

    def group_of(self, index: int) -> str:
        """Return the group of the task at `index`; empty where it is of several."""
        ...

    def summarise(self, indices: Iterable[int]) -> Summary:
        """Count groups, capped shots and mislabelled tasks; no input is read."""
        ...


@dataclass(frozen=True, eq=False)
class WrappedStream:
    """What a stream that changes or mixes tasks takes over from the stream that it is made of."""

    own: TaskStream

    @property
    def spec(self) -> EpisodeSpec:
        """The distribution of the own tasks."""
        return self.own.spec

    @property
    def pool(self) -> Pool:
        """What the own tasks are made of."""
        return self.own.pool

    @property
    def seed(self) -> int:
        """The seed of the draws."""
        return self.own.seed

    @property
    def stream(self) -> str:
        """The purpose of the tasks; streams of other purposes are independent."""
        return self.own.stream


def stream_of(pool: Pool, spec: EpisodeSpec, seed: int = 0, stream: str = "episodes") -> TaskStream:
    """Return the stream of tasks of a pool, drawn by the sampler for its kind.

    Args:
        pool: what tasks are made of.
        spec: the distribution of the tasks.
        seed: the seed of the draws.
        stream: the purpose of the tasks, such as `"validation"`.
    """
    if isinstance(pool, TablePool):
        return TableSampler(pool, spec, seed, stream)
    return EpisodeSampler(pool, spec, seed, stream)


def shape_of(pool: Pool, ways: int) -> TaskShape:
    """Return the shape of the tasks of a pool; those of a regression have one output."""
    if isinstance(pool, TablePool) and pool.is_regression:
        return TaskShape(pool.input_shape, 1, is_regression=True)
    return TaskShape(pool.input_shape, ways)
