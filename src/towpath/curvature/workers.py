"""Tasks side by side: one task on one thread beats one task on two.

`functional_call` swaps tensors inside its module, so every worker owns a copy of the learner. Each
task is computed by one thread alone and results are taken in task order, so the number of workers
changes nothing but the time. Dropout draws from torch's global generator, which threads would
share: a learner with active dropout is evaluated by one worker.
"""

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import nn

from towpath.learners import Learner

Result = TypeVar("Result")


class Workers:
    """A few threads, each with its own copy of a learner."""

    def __init__(self, learner: Learner, count: int) -> None:
        self._learner, self._count = learner, count
        self._own = threading.local()
        self._copies: list[Learner] = []
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    def serve(self) -> bool:
        """Whether tasks may go side by side now."""
        return self._count > 1 and not self.random

    @property
    def random(self) -> bool:
        """Whether a pass of the learner draws random numbers now."""
        return any(
            module.training and module.p > 0
            for module in self._learner.module.modules()
            if isinstance(module, nn.modules.dropout._DropoutNd)
        )

    def map(self, work: Callable[[Learner, int], Result], items: Sequence[int]) -> Iterator[Result]:
        """`work(learner, item)` for each item; results in the order of the items."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._count, "towpath-task", initializer=self._begin)
        for own in self._copies:
            self._follow(own)
        return self._threads.map(lambda item: work(self._own.learner, item), items)

    def _follow(self, own: Learner) -> None:
        """A copy's modes and buffers as the learner's are now; the parameters come with a task."""
        module = self._learner.module
        for part, like in zip(own.module.modules(), module.modules(), strict=True):
            part.training = like.training
        with torch.no_grad():
            for buffer, value in zip(own.module.buffers(), module.buffers(), strict=True):
                buffer.copy_(value)

    def _begin(self) -> None:
        torch.set_num_threads(1)
        with self._lock:
            own = copy.deepcopy(self._learner)
            self._copies.append(own)
        self._own.learner = own
