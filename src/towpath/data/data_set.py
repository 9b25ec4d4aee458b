"""A named data set: what there is to know of it before it is loaded."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from towpath.data.download import RemoteFile
from towpath.data.pool import SPLITS, ClassPool
from towpath.data.set_report import Report
from towpath.data.tables.pool import TablePool


def nothing(_root: Path) -> list[Path]:
    """List nothing: the sources of a set that is made and not read."""
    return []


def _never(_root: Path) -> bool:
    return False


@dataclass(frozen=True)
class DataSet:
    """A set with a name, and what there is to know of it before it is loaded."""

    name: str
    what: str
    licence: str
    counts: str
    load: Callable[..., ClassPool | TablePool]
    sources: Callable[[Path], list[Path]]
    """lists the folders and archives of the set that are in a data folder"""
    verify: Callable[[Path], Report]
    """counts what a data folder has of the set, which is there, and compares it with what it should
    have"""
    manual: str
    """how to get it by hand, in sentences"""
    files: tuple[RemoteFile, ...] = ()
    """what `towpath data fetch` downloads into `folder` of the data folder"""
    folder: str = ""
    splits: tuple[str, ...] = SPLITS
    synthetic: bool = False
    """whether no person drew or photographed the images"""
    built_in: bool = False
    """whether it is made when it is needed, so that there is nothing to fetch"""
    ink_is_one: bool = False
    """whether it shows strokes on paper, stored with ink = 1"""
    single_source: bool = False
    """whether any one of its sources is the whole set, so that nothing is fetched beside it"""
    is_decoded: Callable[[Path], bool] = _never
    """whether the set is in a data folder and in the cache, so that loading is quick"""
