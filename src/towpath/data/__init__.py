"""Data: class pools (group -> class -> images), one loader a set, and reproducible episodes."""

from towpath.data.episode import Episode
from towpath.data.errors import DataError, DownloadError
from towpath.data.folder import load_folder
from towpath.data.pool import ClassEntry, ClassPool
from towpath.data.registry import SETS, load, present
from towpath.data.sampler import EpisodeSampler, Summary
from towpath.data.spec import EpisodeSpec
from towpath.data.verify import verify
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
    "Windows",
    "load",
    "load_folder",
    "present",
    "trusted_pool",
    "verify",
]
