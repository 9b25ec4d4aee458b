"""NPZ files: arrays of one number or text a row, and arrays `[N, D]` of D numbers a row.

Nothing is unpickled, since that runs code: an array of objects is refused. Members are checked
before they are unpacked, as those of every archive.
"""

import io
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towpath.data.archive import Limits, open_zip
from towpath.data.errors import DataError
from towpath.data.tables.cells import LARGEST_NUMBER, refuse_infinite
from towpath.data.tables.columns import (
    Column,
    NumberColumn,
    Table,
    TextColumn,
    check_names,
    make_column,
)
from towpath.data.tables.limits import LIMITS, TableLimits
from towpath.files import check_readable
from towpath.wording import quoted


def read_npz(
    path: Path, text_columns: frozenset[str] = frozenset(), limits: TableLimits = LIMITS
) -> Table:
    """Return the table of an NPZ file, whose arrays all have one entry a row.

    Args:
        path: the file.
        text_columns: columns to keep as text, whatever they hold.
        limits: how large the table may be.
    """
    columns: dict[str, Column] = {}
    arrays: dict[str, tuple[str, ...]] = {}
    first: tuple[str, int] | None = None
    for name, array in npz_arrays(path, limits):
        if first is None:
            first = (name, len(array))
        if len(array) != first[1]:
            raise DataError(
                f"{path.name} has {len(array):,} rows in {quoted(name)} and {first[1]:,} in "
                f"{quoted(first[0])}; expected arrays of one entry a row. Save them aligned."
            )
        if array.ndim == 1:
            columns[name] = _column(path.name, name, array, name in text_columns)
        else:
            arrays[name] = tuple(f"{name}.{i}" for i in range(array.shape[1]))
            for i, part in enumerate(arrays[name]):
                columns[part] = _column(path.name, part, array[:, i], part in text_columns)
    if first is None or not first[1]:
        raise DataError(
            f"{path.name} holds {'no arrays' if first is None else 'arrays without rows'}; "
            "expected arrays of one entry a row, as numpy.savez writes them. Save it again."
        )
    check_names(path.name, list(columns), limits.columns)
    limits.check_cells(path.name, first[1], len(columns))
    note = f"{first[1]:,} rows of {len(columns):,} columns, in arrays"
    return Table(path.name, columns, arrays=arrays, notes=(note,))


def npz_arrays(path: Path, limits: TableLimits = LIMITS) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the name and content of each array of an NPZ file, of one or two dimensions.

    Args:
        path: the file.
        limits: how much it may unpack to.
    """
    check_readable(path)
    if not zipfile.is_zipfile(path):
        raise DataError(
            f"{path.name} is no NPZ file; expected one that numpy.savez wrote. Save it again, or "
            "name the file after what it is."
        )
    bounds = Limits(
        limits.columns, limits.file_bytes, limits.file_bytes, limits.ratio, limits.ratio_from
    )
    archive = open_zip(path, bounds)
    try:
        for member in archive.members():
            yield member.name.removesuffix(".npy"), _array(path, member.name, archive.read)
    finally:
        archive.close()


def _array(path: Path, name: str, read: Any) -> NDArray[Any]:
    content: bytes = read(name)
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else None
        header = header or np.lib.format.read_array_header_2_0
        shape, _, dtype = header(stream)
    except (ValueError, SyntaxError, EOFError, KeyError, TypeError) as error:
        raise DataError(
            f"{path.name} has a member {quoted(name)} that is no NumPy array; expected arrays that "
            "numpy.savez wrote. Save it again."
        ) from error
    if dtype.hasobject:
        raise DataError(
            f"{path.name} has an array {quoted(name)} of Python objects; expected numbers or text. "
            "Reading objects runs code, so it is refused: save it as an array of numbers or of "
            "text (dtype float or str)."
        )
    if dtype.kind not in "biufUS" or len(shape) not in (1, 2):
        raise DataError(
            f"{path.name} has an array {quoted(name)} of {dtype} {list(shape)}; expected numbers "
            "or text with one or two dimensions, the first being the rows. Convert it."
        )
    size = math.prod(shape) * dtype.itemsize
    if size != len(content) - stream.tell():
        raise DataError(
            f"{path.name} declares {size:,} bytes for {quoted(name)} and has "
            f"{len(content) - stream.tell():,}; expected as many as declared. The file is damaged: "
            "save it again."
        )
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _column(table: str, name: str, values: NDArray[Any], as_text: bool) -> Column:
    if values.dtype.kind in "US":
        texts = _texts(table, name, values)
        return make_column(table, name, texts, range(len(texts)), True)
    numbers = values.astype(np.float64)
    too_large = np.abs(numbers) > LARGEST_NUMBER
    if too_large.any():
        row = int(np.flatnonzero(too_large)[0])
        raise refuse_infinite(table, name, f"row {row}", str(values[row]))
    column = NumberColumn(name, numbers)
    if as_text:
        whole = values.dtype.kind in "iu"
        return TextColumn(name, tuple(map(str, values.tolist())) if whole else column.texts)
    return column


def _texts(table: str, name: str, values: NDArray[Any]) -> list[str]:
    try:
        return [str(text).strip() for text in values.astype(np.str_).tolist()]
    except UnicodeDecodeError as error:
        raise DataError(
            f"{table} has bytes that are no ASCII text in {quoted(name)}; expected text. Save it "
            "with dtype str."
        ) from error
