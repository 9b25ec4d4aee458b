"""Data sets as class pools (groups of classes of images), and reproducible episodes from them."""

from typing import TYPE_CHECKING

from towpath.lazy import exports

if TYPE_CHECKING:
    from towpath.data.episode import Episode
    from towpath.data.errors import DataError, DownloadError
    from towpath.data.own_folder import load_folder
    from towpath.data.pool import ClassEntry, ClassPool
    from towpath.data.registry import SETS, load, present
    from towpath.data.sampler import EpisodeSampler
    from towpath.data.spec import EpisodeSpec
    from towpath.data.summary import Summary
    from towpath.data.trusted import trusted_pool
    from towpath.data.verification import verify
    from towpath.data.windows import Windows

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
    "Windows",
    "load",
    "load_folder",
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
        "towpath.data.sampler": ("EpisodeSampler",),
        "towpath.data.spec": ("EpisodeSpec",),
        "towpath.data.summary": ("Summary",),
        "towpath.data.trusted": ("trusted_pool",),
        "towpath.data.verification": ("verify",),
        "towpath.data.windows": ("Windows",),
    },
)
