"""Trusted tasks: clean tasks to train on beside each mini-batch, to aim at, and to judge by.

They are either drawn once (`FixedTrusted`) or fresh for every mini-batch, so that they cannot be
learnt by heart (`FreshTrusted`). What judges is kept apart from what is trained on and aimed at:
other tasks of a pool that was drawn once, other classes where tasks are fresh.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from towpath.data.episode import Episode
from towpath.data.errors import DataError
from towpath.data.noise import LabelNoise, noise_named
from towpath.data.spec import EpisodeSpec
from towpath.data.streams import Pool, TaskStream, stream_of

TRUSTED, LEFT_OUT = "trusted", "left_out"
"""what the info of a task says: it is a trusted one; it is one that a check has left out"""


def still_trusted(info: Mapping[str, object]) -> bool:
    """Return whether a task is a trusted one that no check of the trusted tasks has left out.

    Args:
        info: the info of the task, or its record.
    """
    return bool(info.get(TRUSTED)) and not info.get(LEFT_OUT)


@dataclass(frozen=True, eq=False)
class TrustedBatch:
    """The trusted tasks that one mini-batch trains on and those that it aims at."""

    trained: list[Episode]
    targets: list[Episode]


class TrustedTasks(Protocol):
    """Where the trusted tasks of a training come from."""

    @property
    def judging_windows(self) -> int | None:
        """In how many windows tasks judge, if any do; None for all windows."""
        ...

    def batch(self, window: int, t: int, left_out: Collection[int] = ()) -> TrustedBatch:
        """Return the trusted tasks of mini-batch `t` of a window.

        Args:
            window: index of the window in the stream.
            t: index of the mini-batch in the window.
            left_out: positions of tasks that are not aimed at, and marked where they are trained
                on; without effect where tasks have no positions.
        """
        ...

    def judges(self, window: int, left_out: Collection[int] = ()) -> list[Episode]:
        """Return the tasks that judge a window; empty where none are kept for that.

        Args:
            window: index of the window in the stream.
            left_out: positions of tasks that do not judge, where tasks have positions.
        """
        ...

    def again(self, info: Mapping[str, object]) -> Episode | None:
        """Return the trusted task that a record describes; None where it cannot be found."""
        ...


@dataclass(frozen=True, eq=False)
class FixedTrusted:
    """Trusted tasks that were drawn once; each mini-batch picks some of them."""

    tasks: Sequence[Episode]
    """all of them; the last `judging` ones judge, the others are trained on and aimed at"""
    per_batch: int
    seed: int
    judging: int = 0
    judging_windows: int | None = None
    """number of windows in which they judge; from then on they are trained on as the others are.
    None for all windows"""

    def _judging_at(self, window: int) -> int:
        """Return how many tasks are kept apart in a window."""
        ended = self.judging_windows is not None and window >= self.judging_windows
        return 0 if ended else self.judging

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Episode]:
        return iter(self.tasks)

    def batch(self, window: int, t: int, left_out: Collection[int] = ()) -> TrustedBatch:
        """Return the trusted tasks of mini-batch `t` of a window.

        Every task is trained on in its turn, so that all weighters train on the same tasks; a task
        that is left out is not aimed at, and the next one of the order takes its place; where it
        is trained on, its info says so to rules that look for trusted tasks.

        Args:
            window: index of the window in the stream.
            t: index of the mini-batch in the window.
            left_out: positions of the tasks that are not aimed at, and marked.
        """
        generator = np.random.default_rng([self.seed, 7, window, t])
        order = generator.permutation(len(self.tasks) - self._judging_at(window))
        count = self.per_batch
        # with fewer than twice as many, some are both trained on and aimed at
        trained = order[:count]
        targets = [i for i in np.roll(order, -count) if i not in left_out][:count]
        return TrustedBatch(
            [_marked(self.tasks[i], LEFT_OUT) if i in left_out else self.tasks[i] for i in trained],
            [self.tasks[i] for i in targets],
        )

    def judges(self, window: int, left_out: Collection[int] = ()) -> list[Episode]:
        """Return the tasks that judge, which are the same for every window in which any do.

        Args:
            window: index of the window in the stream.
            left_out: positions of the tasks that do not judge.
        """
        if not self._judging_at(window):
            return []
        return [self.tasks[i] for i in self.judging_positions if i not in left_out]

    @property
    def judging_positions(self) -> range:
        """The positions of the tasks that judge."""
        return range(len(self.tasks) - self.judging, len(self.tasks))

    def again(self, info: Mapping[str, object]) -> Episode | None:
        """Return the trusted task of the recorded index."""
        return next((task for task in self.tasks if task.info["index"] == info.get("index")), None)


@dataclass(frozen=True, eq=False)
class FreshTrusted:
    """Trusted tasks that are drawn anew for every mini-batch from trusted classes."""

    stream: TaskStream
    """tasks to train on and to aim at"""
    per_batch: int
    horizon: int
    placed: Callable[[Episode], Episode] = lambda task: task
    """brings a task to the device and type of the training"""
    judging_stream: TaskStream | None = None
    """tasks of other classes, to judge by"""
    judging: int = 0
    """number of tasks that judge a window"""

    @property
    def judging_windows(self) -> None:
        """None: tasks that are always new judge in all windows."""
        return None

    def _drawn(self, stream: TaskStream, indices: range) -> list[Episode]:
        return [self.placed(_marked(stream.episode(index), TRUSTED)) for index in indices]

    def batch(self, window: int, t: int, left_out: Collection[int] = ()) -> TrustedBatch:
        """Return the trusted tasks of mini-batch `t` of a window, which no other has.

        Args:
            window: index of the window in the stream.
            t: index of the mini-batch in the window.
            left_out: not used, because every task is a new one.
        """
        del left_out
        first = (window * self.horizon + t) * 2 * self.per_batch
        both = self._drawn(self.stream, range(first, first + 2 * self.per_batch))
        return TrustedBatch(both[: self.per_batch], both[self.per_batch :])

    def judges(self, window: int, left_out: Collection[int] = ()) -> list[Episode]:
        """Return tasks of the classes that are kept for judging, other ones for every window.

        Args:
            window: index of the window in the stream.
            left_out: not used, because every task is a new one.
        """
        del left_out
        if self.judging_stream is None:
            return []
        first = window * self.judging
        return self._drawn(self.judging_stream, range(first, first + self.judging))

    def again(self, info: Mapping[str, object]) -> Episode | None:
        """Return the trusted task of the recorded index."""
        index = info.get("index")
        return (
            None
            if not isinstance(index, int)
            else self._drawn(self.stream, range(index, index + 1))[0]
        )


def trusted_spec(spec: EpisodeSpec, label_noise: float = 0.0) -> EpisodeSpec:
    """Return the distribution of trusted tasks: that of training without its noise.

    Args:
        spec: the distribution of the training tasks.
        label_noise: the fraction of the trusted tasks that is mislabelled on purpose, by the kind
            of noise of the training tasks, or with permuted query labels where that kind is not
            one of single tasks.
    """
    kind = spec.noise_kind if isinstance(noise_named(spec.noise_kind), LabelNoise) else "query"
    return replace(spec, label_noise=label_noise, noise_kind=kind)


def trusted_pool(
    pool: Pool, spec: EpisodeSpec, count: int, seed: int = 0, label_noise: float = 0.0
) -> list[Episode]:
    """Draw trusted tasks with clean labels, independent of the tasks of training.

    Their `info` marks them as trusted, so that they are not taken for tasks of an evaluation.

    Args:
        pool: the classes, or the tasks of a table, to draw from.
        spec: what the tasks look like; its label noise is ignored.
        count: how many tasks.
        seed: decides the tasks.
        label_noise: the fraction of them that is mislabelled on purpose: wrong trust.
    """
    if count < 1:
        raise DataError(f"count is {count}; expected at least 1 trusted task. Correct it.")
    sampler = stream_of(pool, trusted_spec(spec, label_noise), seed, "trusted")
    return [_marked(sampler.episode(index), TRUSTED) for index in range(count)]


def _marked(task: Episode, mark: str) -> Episode:
    return replace(task, info={**task.info, mark: True})
