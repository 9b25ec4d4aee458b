"""Check that a set is complete: each set says itself what it should hold."""

from pathlib import Path

from towpath.data.errors import DataError
from towpath.data.locations import data_root
from towpath.data.registry import SETS, is_own_data, loader_of, present
from towpath.data.set_report import Report


def verify(name: str, root: str | Path | None = None) -> Report:
    """Load every split of a set, or of a folder of your own, and compare its counts.

    Args:
        name: a name in `SETS`, or the path of a folder, archive or table of your own.
        root: the data folder that has the set; by default the one of `data_root`.
    """
    if is_own_data(name):
        pool = loader_of(name)(name, "all")
        return Report(name, (pool.describe(), *pool.notes))
    folder = data_root(root)
    if not present(name, folder):
        # The error of the loader says what is missing and how to get it.
        SETS[name].load(root=folder, split="test")
    return SETS[name].verify(folder)


def require(report: Report) -> None:
    """Raise a `DataError` with the problems of the report, if it has any."""
    if report.problems:
        raise DataError(
            f"{report.name}: {'; '.join(report.problems)}. Some files are missing or too many: "
            f"copy the set again. {SETS[report.name].manual}"
        )
