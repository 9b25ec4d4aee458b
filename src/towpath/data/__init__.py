"""Data sets as pools, of classes of images or of tasks of tables, and episodes drawn from them."""

from typing import TYPE_CHECKING

from towpath.lazy import exports

if TYPE_CHECKING:
    from towpath.data.episode import Episode
    from towpath.data.errors import DataError, DownloadError
    from towpath.data.feature_file import load_features
    from towpath.data.feature_pool import FeaturePool
    from towpath.data.mix import MixedStream, mixed
    from towpath.data.own_folder import load_folder
    from towpath.data.pool import ClassEntry, ClassPool
    from towpath.data.registry import SETS, load, load_images, present
    from towpath.data.sampler import EpisodeSampler
    from towpath.data.shape import TaskShape
    from towpath.data.spec import EpisodeSpec
    from towpath.data.streams import Pool, TaskStream, shape_of, stream_of
    from towpath.data.summary import Summary
    from towpath.data.tables.loading import load_table
    from towpath.data.tables.pool import TablePool
    from towpath.data.tables.table_task import TableTask
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
    "FeaturePool",
    "MixedStream",
    "Pool",
    "Summary",
    "TablePool",
    "TableTask",
    "TaskShape",
    "TaskStream",
    "Windows",
    "load",
    "load_features",
    "load_folder",
    "load_images",
    "load_table",
    "mixed",
    "present",
    "shape_of",
    "stream_of",
    "trusted_pool",
    "verify",
]
__getattr__, __dir__ = exports(
    __name__,
    {
        "towpath.data.episode": ("Episode",),
        "towpath.data.errors": ("DataError", "DownloadError"),
        "towpath.data.mix": ("MixedStream", "mixed"),
        "towpath.data.feature_file": ("load_features",),
        "towpath.data.feature_pool": ("FeaturePool",),
        "towpath.data.own_folder": ("load_folder",),
        "towpath.data.pool": ("ClassEntry", "ClassPool"),
        "towpath.data.registry": ("SETS", "load", "load_images", "present"),
        "towpath.data.sampler": ("EpisodeSampler",),
        "towpath.data.shape": ("TaskShape",),
        "towpath.data.spec": ("EpisodeSpec",),
        "towpath.data.streams": ("Pool", "TaskStream", "shape_of", "stream_of"),
        "towpath.data.summary": ("Summary",),
        "towpath.data.trusted": ("trusted_pool",),
        "towpath.data.tables.loading": ("load_table",),
        "towpath.data.tables.pool": ("TablePool", "TableTask"),
        "towpath.data.verification": ("verify",),
        "towpath.data.windows": ("Windows",),
    },
)
