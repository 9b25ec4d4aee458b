"""Windows of T x M episodes, in order and resumable.

Window w has the episodes w*T*M .. (w+1)*T*M - 1 of its sampler, as T lists of M. Worker threads
prepare windows ahead; every episode is a function of its index, so their number changes nothing but
the time.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from towpath.data.episode import Episode
from towpath.data.errors import DataError
from towpath.data.streams import TaskStream

Window = list[list[Episode]]
"""T mini-batches of M episodes."""


class Windows(Iterator[Window]):
    """An endless iterator of windows.

    `position` is the number of the next window: a run that stopped goes on with
    `Windows(..., start=position)`. End the worker threads with `close()`, or use the object in a
    `with` statement.

    Args:
        sampler: where the episodes come from.
        horizon: T, the mini-batches of a window.
        meta_batch_size: M, the tasks of a mini-batch.
        start: the number of the first window.
        workers: threads that prepare the next windows; 0 prepares each when it is requested.
    """

    def __init__(
        self,
        sampler: TaskStream,
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
        """Return the window at `position`, whatever the position of the iterator, which stays."""
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
                # What was prepared ahead must not be taken for other windows later.
                self._ahead.clear()
                raise
            self._ahead.popleft()
        self.position += 1
        return window

    def close(self) -> None:
        """End the worker threads; the iterator can still be used, without them."""
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
