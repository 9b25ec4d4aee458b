"""Parquet files, by pyarrow, which is the extra `parquet`."""

from pathlib import Path
from typing import Any

import numpy as np

from towpath.data.errors import DataError
from towpath.data.tables.cells import LARGEST_NUMBER, refuse_infinite
from towpath.data.tables.columns import Column, NumberColumn, Table, check_names, make_column
from towpath.data.tables.limits import LIMITS, TableLimits
from towpath.files import open_regular
from towpath.wording import one_line, quoted, shortened


def read_parquet(
    path: Path, text_columns: frozenset[str] = frozenset(), limits: TableLimits = LIMITS
) -> Table:
    """Return the table of a Parquet file with plain columns of numbers, truth values and text.

    Args:
        path: the file.
        text_columns: columns to keep as text, whatever they hold.
        limits: how large the table may be.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DataError(
            f"{path.name} is a Parquet file, and pyarrow, which reads it, is not installed; "
            "expected the extra. Run: pip install 'towpath[parquet]', or save the table as CSV."
        ) from error
    with open_regular(path) as stream:
        try:
            file = pq.ParquetFile(stream)
            about = file.metadata
            names = [str(name) for name in file.schema_arrow.names]
            check_names(path.name, names, limits.columns)
            limits.check_cells(path.name, about.num_rows, len(names))
            size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
            limits.check_bytes(path.name, size, path.stat().st_size)
            table = file.read()
        except (pa.ArrowException, OSError, EOFError) as error:
            raise DataError(
                f"{path.name} cannot be read as Parquet ({shortened(one_line(error), 200)}); "
                "expected a complete Parquet file. Write or copy it again."
            ) from error
    if not table.num_rows or not names:
        raise DataError(
            f"{path.name} has {len(names)} columns and {table.num_rows} rows; expected at least "
            "one of each. Check that it was saved whole."
        )
    columns = {
        name: _column(path.name, name, table.column(i), name in text_columns)
        for i, name in enumerate(names)
    }
    return Table(
        path.name, columns, notes=(f"{table.num_rows:,} rows of {len(names):,} columns, Parquet",)
    )


def _column(table: str, name: str, column: Any, as_text: bool) -> Column:
    """`column` is a pyarrow.ChunkedArray, whose package has no types."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise DataError(
            f"{table} has values of type {kind} in column {quoted(name)}; expected numbers, truth "
            "values or text. Convert the column, or leave it out."
        )
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not as_text and (is_number or pa.types.is_boolean(kind) or pa.types.is_decimal(kind)):
        # decimals and truth values are converted one by one: pyarrow has no cast for all of them
        values = column.to_pylist() if not is_number else column.cast(pa.float64(), safe=False)
        if is_number:
            numbers = np.asarray(values.to_numpy(), dtype=np.float64)
        else:
            numbers = np.array([np.nan if v is None else float(v) for v in values])
        too_large = np.abs(numbers) > LARGEST_NUMBER
        if too_large.any():
            row = int(np.flatnonzero(too_large)[0])
            raise refuse_infinite(table, name, f"row {row}", str(numbers[row]))
        return NumberColumn(name, numbers)
    texts = ["" if value is None else str(value).strip() for value in column.to_pylist()]
    return make_column(table, name, texts, range(len(texts)), True)
