"""Several processes: their communication, how they are launched and stopped, its volume."""

from typing import TYPE_CHECKING

from towpath.lazy import exports

if TYPE_CHECKING:
    from towpath.distributed.launch import launched
    from towpath.distributed.ranks import ALONE, Ranks

__all__ = ["ALONE", "Ranks", "launched"]
__getattr__, __dir__ = exports(
    __name__,
    {
        "towpath.distributed.launch": ("launched",),
        "towpath.distributed.ranks": ("ALONE", "Ranks"),
    },
)
