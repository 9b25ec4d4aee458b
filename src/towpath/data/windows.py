"""Windows of T x M episodes, in order, resumable; and pools of trusted tasks.

Window w holds the episodes w*T*M .. (w+1)*T*M - 1 of its sampler, T lists of M. Workers fetch
ahead; since every episode is a function of its index, their number changes nothing but the time.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType

from towpath.data.episode import Episode
from towpath.data.errors import DataError
from towpath.data.pool import ClassPool
from towpath.data.sampler import EpisodeSampler
from towpath.data.spec import EpisodeSpec

Window = list[list[Episode]]


class Windows(Iterator[Window]):
    """An endless iterator of windows.

    `position` counts the windows handed out, those before `start` included: a run that stopped
    goes on with `Windows(..., start=position)`. With `workers` > 0 as many threads prepare the
    next windows; close them with `close()` or by using the object in a `with` statement.
    """

    def __init__(
        self,
        sampler: EpisodeSampler,
        horizon: int,
        meta_batch_size: int,
        start: int = 0,
        workers: int = 0,
    ) -> None:
        for name, value, low in (
            ("horizon", horizon, 1),
            ("meta_batch_size", meta_batch_size, 1),
            ("start", start, 0),
            ("workers", workers, 0),
        ):
            if value < low:
                raise DataError(f"{name} is {value}; expected at least {low}. Correct it.")
        self.sampler = sampler
        self.horizon = horizon
        self.meta_batch_size = meta_batch_size
        self.position = start
        self._threads = ThreadPoolExecutor(workers, "towpath-episodes") if workers else None
        self._ahead: deque[list[Future[Episode]]] = deque()
        self._windows_ahead = 2 if workers else 0

    def _indices(self, window: int) -> range:
        size = self.horizon * self.meta_batch_size
        return range(window * size, (window + 1) * size)

    def _arranged(self, episodes: list[Episode]) -> Window:
        M = self.meta_batch_size
        return [episodes[t * M : (t + 1) * M] for t in range(self.horizon)]

    def window(self, position: int) -> Window:
        """The window at `position`, wherever the iterator stands."""
        return self._arranged([self.sampler.episode(i) for i in self._indices(position)])

    def __next__(self) -> Window:
        if self._threads is None:
            window = self.window(self.position)
        else:
            while len(self._ahead) < self._windows_ahead:
                indices = self._indices(self.position + len(self._ahead))
                self._ahead.append([self._threads.submit(self.sampler.episode, i) for i in indices])
            try:
                window = self._arranged([future.result() for future in self._ahead[0]])
            except BaseException:
                # Interrupted or failed: what was fetched ahead must not be taken for other windows.
                self._ahead.clear()
                raise
            self._ahead.popleft()
        self.position += 1
        return window

    def close(self) -> None:
        """Stop the workers; the iterator goes on without them."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        self._threads = None
        self._ahead.clear()

    def __enter__(self) -> "Windows":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def trusted_pool(pool: ClassPool, spec: EpisodeSpec, count: int, seed: int = 0) -> list[Episode]:
    """`count` tasks drawn once, labels clean, from a random stream apart from the training's.

    Their `info` says that they are trusted, so that nobody takes them for what is to be judged.
    """
    if count < 1:
        raise DataError(f"count is {count}; expected at least 1 trusted task. Correct it.")
    sampler = EpisodeSampler(pool, replace(spec, label_noise=0.0), seed, stream="trusted")
    drawn = [sampler.episode(index) for index in range(count)]
    return [replace(task, info={**task.info, "trusted": True}) for task in drawn]
