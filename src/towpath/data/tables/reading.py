"""Read a table by the ending of its name: CSV, gzipped CSV, Parquet or NPZ."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from towpath.data.errors import DataError
from towpath.data.lookup import is_features_name
from towpath.data.source import content_key
from towpath.data.tables.arrays import read_npz
from towpath.data.tables.columns import Table
from towpath.data.tables.comma_separated import read_csv
from towpath.data.tables.limits import LIMITS
from towpath.data.tables.parquet import read_parquet
from towpath.files import FileError, check_readable, read_bytes
from towpath.wording import quoted

CSV_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
SUFFIXES = (*CSV_SUFFIXES, ".parquet", ".npz")
_KEPT = 3


def is_table_name(name: str) -> bool:
    """Return whether the file name ends like that of a table that can be read."""
    return name.lower().endswith(SUFFIXES) and not is_features_name(name)


def read_table(path: Path, text_columns: frozenset[str] = frozenset()) -> Table:
    """Return the table of a file, which is parsed once as long as it does not change.

    Args:
        path: the file.
        text_columns: columns to keep as text, whatever they hold.
    """
    if not is_table_name(path.name):
        raise DataError(
            f"{quoted(path.name)} does not end like a table; expected one of "
            f"{', '.join(SUFFIXES)}. Name the file after what it is."
        )
    with _as_data_errors():
        check_readable(path)
        return _read(path, content_key(path), text_columns)


@lru_cache(maxsize=_KEPT)
def _read(path: Path, _content: str, text_columns: frozenset[str]) -> Table:
    name = path.name.lower()
    if name.endswith(".parquet"):
        return read_parquet(path, text_columns)
    if name.endswith(".npz"):
        return read_npz(path, text_columns)
    return read_csv(path.name, read_bytes(path, LIMITS.file_bytes), text_columns)


@contextmanager
def _as_data_errors() -> Iterator[None]:
    try:
        yield
    except FileError as error:
        raise DataError(str(error)) from error
