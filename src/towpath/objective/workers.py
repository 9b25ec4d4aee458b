"""Tasks in parallel: two tasks on a thread each are faster than one task on two threads.

`functional_call` swaps tensors inside its module, so every worker owns a copy of the learner. Each
task is computed by one thread alone and results are taken in task order, so the number of workers
changes nothing but the time. Random numbers come from generators that threads would share: a
learner that draws is evaluated by one worker (`towpath.objective.draws`).
"""

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from towpath.learners import Learner
from towpath.objective.turns import become_helper

Answer = TypeVar("Answer")
Modes = tuple[bool, ...]


@dataclass(frozen=True)
class Autocast:
    """Whether the CPU computes in a lower precision, which each thread decides for itself."""

    enabled: bool
    dtype: torch.dtype

    @classmethod
    def now(cls) -> "Autocast":
        """Return the setting of the current thread."""
        return cls(torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))

    def here(self) -> AbstractContextManager[Any]:
        """Return a context in which the current thread has this setting."""
        return torch.autocast("cpu", self.dtype) if self.enabled else nullcontext()


class Workers:
    """A pool of threads, each with its own copy of a learner."""

    def __init__(self, learner: Learner, count: int) -> None:
        self._learner, self._count = learner, count
        self._own = threading.local()
        self._copies: list[Learner] = []
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._drew: dict[Modes, bool] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: threads and their copies of the learner are made anew."""
        return {"learner": self._learner, "count": self._count}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, without threads until they are needed."""
        self.__init__(state["learner"], state["count"])  # type: ignore[misc]

    @property
    def draws(self) -> bool | None:
        """Whether the learner drew random numbers when last evaluated in its present modes.

        None if it was never evaluated in them.
        """
        return self._drew.get(self._modes())

    def saw(self, drew: bool) -> None:
        """Record whether an evaluation in the present modes drew random numbers."""
        self._drew[self._modes()] = drew

    def _modes(self) -> Modes:
        return tuple(module.training for module in self._learner.module.modules())

    def map(self, work: Callable[[Learner, int], Answer], items: Sequence[int]) -> Iterator[Answer]:
        """Compute `work(learner, item)` for each item and yield the results in the items' order."""
        if self._count == 1 or len(items) < 2:
            return (work(self._learner, item) for item in items)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._count, "towpath-task", initializer=self._begin)
        for own in self._copies:
            self._follow(own)
        precision = Autocast.now()

        def work_on(item: int) -> Answer:
            """Compute one item on a worker's thread, in the caller's precision."""
            with precision.here():
                return work(self._own.learner, item)

        return self._threads.map(work_on, items)

    def _follow(self, own: Learner) -> None:
        """Give a copy the learner's current modes, buffers and frozen parameters.

        All other parameters come with each task.
        """
        module = self._learner.module
        for part, like in zip(own.module.modules(), module.modules(), strict=True):
            part.training = like.training
        with torch.no_grad():
            for buffer, value in zip(own.module.buffers(), module.buffers(), strict=True):
                buffer.copy_(value)
        for parameter, held in zip(own.module.parameters(), module.parameters(), strict=True):
            parameter.requires_grad_(held.requires_grad)
            if not held.requires_grad:
                parameter.data = held.data  # shared, not copied: nothing writes to it

    def _begin(self) -> None:
        become_helper()
        torch.set_num_threads(1)
        with self._lock:
            own = copy.deepcopy(self._learner)
            self._copies.append(own)
        self._own.learner = own
