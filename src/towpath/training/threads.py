"""The threads of torch while tasks are computed."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread_a_task() -> Iterator[None]:
    """Compute each task on one thread, so that no sum depends on the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
