"""Threads of a process that evaluate take turns, because models and generators are shared."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ONE_AT_A_TIME = threading.RLock()
_HELPER = threading.local()


@contextmanager
def evaluating() -> Iterator[None]:
    """Let one thread of the process evaluate at a time; other threads wait for their turn.

    A forward pass swaps the tensors inside its module, and the random generators are shared: two
    plans at once, of one model or of two, would corrupt each other. The worker threads of an
    evaluation count as part of the thread that entered this context.
    """
    if getattr(_HELPER, "here", False):
        yield
        return
    with _ONE_AT_A_TIME:
        yield


def become_helper() -> None:
    """Mark the current thread as a worker of the evaluating thread, so that it need not wait."""
    _HELPER.here = True
