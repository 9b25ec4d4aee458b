"""What torchrun passes to the processes that it starts, in the environment; needs no torch."""

import os


class LostRankError(RuntimeError):
    """The ranks of a run no longer work together; the message is one sentence for the user."""


def is_launched() -> bool:
    """Return whether torchrun (or something that sets the same variables) started this process."""
    return all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


def launched_rank() -> int:
    """Return the rank that torchrun gave this process, 0 without torchrun."""
    return int(os.environ["RANK"]) if is_launched() else 0


def launched_size() -> int:
    """Return how many processes torchrun started, 1 without torchrun."""
    return int(os.environ["WORLD_SIZE"]) if is_launched() else 1


def ranks_of_this_machine() -> int:
    """Return how many of the ranks share this machine's cores."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", 1)) if is_launched() else 1


def restarts() -> int:
    """Return how often torchrun has restarted the ranks after one of them ended."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) if is_launched() else 0
