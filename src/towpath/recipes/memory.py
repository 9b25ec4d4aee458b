"""The memory that is free, checked before it is taken.

A system that promises more memory than it has kills the process that uses it; a refusal beforehand
is one sentence and leaves nothing behind.
"""

from pathlib import Path

import torch

from towpath.recipes.typed import RecipeError


def require_memory(needed: int, free: int | None, what: str, remedy: str) -> None:
    """Raise RecipeError if more bytes are needed than are free.

    Args:
        needed: bytes that are needed at least.
        free: what `free_memory` returned; nothing is checked if it is None.
        what: what the memory is needed for, the subject of the message.
        remedy: what would need less memory, for the message.
    """
    if free is not None and needed > free:
        raise RecipeError(
            f"{what} needs at least {needed / 2**30:,.1f} GiB of memory; found {free / 2**30:,.1f} "
            f"GiB free. {remedy}"
        )


def free_memory(device: torch.device) -> int | None:
    """Return the free bytes on the device; None where the system does not report them."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    found = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit != "max":
            used = int(Path("/sys/fs/cgroup/memory.current").read_text())
            found.append(max(0, int(limit) - used + _cache_to_spare()))
    except (OSError, ValueError, IndexError):
        pass  # another system, or no such group: use what is known
    return min(found, default=None)


def _cache_to_spare() -> int:
    """Return the bytes of the group that cache files, which the system frees on demand."""
    for line in Path("/sys/fs/cgroup/memory.stat").read_text().splitlines():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0
