"""Data sets as pools, of classes of images or of tasks of tables, and episodes drawn from them."""

from typing import TYPE_CHECKING

from towpath.lazy import exports

if TYPE_CHECKING:
    from towpath.data.episode import Episode
    from towpath.data.errors import DataError, DownloadError
    from towpath.data.own_folder import load_folder
    from towpath.data.pool import ClassEntry, ClassPool
    from towpath.data.registry import SETS, load, present
    from towpath.data.sampler import EpisodeSampler, Summary
    from towpath.data.spec import EpisodeSpec
    from towpath.data.tables.loading import load_table
    from towpath.data.tables.pool import TablePool, TableTask
    from towpath.data.verification import verify
    from towpath.data.windows import Windows, trusted_pool

__all__ = [
    "SETS",
    "ClassEntry",
    "ClassPool",
    "DataError",
    "DownloadError",
    "Episode",
    "EpisodeSampler",
    "EpisodeSpec",
    "Summary",
    "TablePool",
    "TableTask",
    "Windows",
    "load",
    "load_folder",
    "load_table",
    "present",
    "trusted_pool",
    "verify",
]
__getattr__, __dir__ = exports(
    __name__,
    {
        "towpath.data.episode": ("Episode",),
        "towpath.data.errors": ("DataError", "DownloadError"),
        "towpath.data.own_folder": ("load_folder",),
        "towpath.data.pool": ("ClassEntry", "ClassPool"),
        "towpath.data.registry": ("SETS", "load", "present"),
        "towpath.data.sampler": ("EpisodeSampler", "Summary"),
        "towpath.data.spec": ("EpisodeSpec",),
        "towpath.data.tables.loading": ("load_table",),
        "towpath.data.tables.pool": ("TablePool", "TableTask"),
        "towpath.data.verification": ("verify",),
        "towpath.data.windows": ("Windows", "trusted_pool"),
    },
)
