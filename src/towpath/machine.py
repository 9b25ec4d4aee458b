"""What this process may use of the machine, whatever the operating system."""

import os


def available_cores() -> int:
    """Return how many cores `taskset`, a scheduler or a container lets this process use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
