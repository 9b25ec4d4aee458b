"""Joining the processes that torchrun started into one group: addresses, timeouts, restarts."""

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch

from towpath.distributed.ranks import ALONE, Ranks
from towpath.distributed.torchrun import is_launched, launched_rank, launched_size

TIMEOUT_VARIABLE = "TOWPATH_RANK_TIMEOUT"
TIMEOUT_SECONDS = 300.0
"""how long a rank waits for the others. A rank that dies is noticed at once; this is for one that
hangs, so it must be longer than the slowest task and the slowest disk."""


def own_device(name: str) -> str:
    """Return the device of this rank: under torchrun, `cuda` is another GPU for each rank."""
    return f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if name == "cuda" and is_launched() else name


@contextmanager
def launched(device: str = "cpu") -> Iterator[Ranks]:
    """Join the group that torchrun started while the block runs; `ALONE` without torchrun.

    The group communicates by gloo on the CPU and by nccl on GPUs.

    Example:
        with tp.distributed.launched() as ranks:
            objective = tp.Objective(learner, ranks=ranks)
    """
    if launched_size() == 1:
        yield ALONE
        return
    import torch.distributed as dist
    from torch.distributed import PrefixStore, rendezvous  # type: ignore[attr-defined]

    kind = torch.device(device).type
    if kind not in ("cpu", "cuda"):
        raise ValueError(
            f"torchrun found the device {device!r}; expected cpu or cuda, for which there are "
            "collectives. Use another --device, or train in one process."
        )
    if kind == "cuda":
        torch.cuda.set_device(torch.device(own_device(device)))
    ranks = Ranks(launched_rank(), launched_size())
    timeout = timedelta(seconds=_timeout())
    with ranks.together():
        store, _, _ = next(rendezvous("env://", timeout=timeout))
        store = PrefixStore(_attempt(store, ranks, timeout), store)
        dist.init_process_group(
            "nccl" if kind == "cuda" else "gloo",
            store=store,
            rank=ranks.rank,
            world_size=ranks.size,
            timeout=timeout,
        )
    yield ranks
    # not after an error: the others may be gone, and this process is about to end
    dist.destroy_process_group()


def _attempt(store: Any, ranks: Ranks, timeout: timedelta) -> str:
    """Return a name that the living ranks agree on, and that none before a restart has used.

    torchrun keeps one store over its restarts, with the addresses of dead ranks in it (torch 2.13
    connects to them and fails), and its own count of restarts may differ between machines. So the
    first rank proposes a new name until every other has answered it with a word of its own and
    has been given that very word back.
    """
    deadline = time.monotonic() + timeout.total_seconds()
    key, word = "towpath/attempt", uuid.uuid4().hex
    others = range(1, ranks.size)
    if ranks.is_first:
        store.set(key, word)
        for rank in others:
            answer = store.get(f"{word}/{rank}")  # waits for it
            store.set(f"{word}/{rank}/heard", answer)
        return word
    while time.monotonic() < deadline:
        name: str = store.get(key).decode()
        store.set(f"{name}/{ranks.rank}", word)
        heard = f"{name}/{ranks.rank}/heard"
        if store.check([heard]) and store.get(heard).decode() == word:
            return name
        time.sleep(0.05)
    raise RuntimeError(f"no answer from the first rank in {timeout.total_seconds():g} s")


def _timeout() -> float:
    text = os.environ.get(TIMEOUT_VARIABLE, str(TIMEOUT_SECONDS))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e7:
        raise ValueError(f"{TIMEOUT_VARIABLE} is {text!r}; expected seconds, such as 300.")
    return seconds
