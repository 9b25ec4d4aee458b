"""CSV files: text in UTF-8 with a line of names, separated by comma, semicolon, tab or bar.

Lines without any cell are skipped. Blanks around a cell are dropped. A cell may be quoted, with
line breaks inside. Nothing is executed: a formula is text.
"""

import codecs
import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator

from towpath.data.errors import DataError
from towpath.data.tables.columns import Table, check_names, make_column
from towpath.data.tables.limits import LIMITS, TableLimits
from towpath.wording import quoted

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_GZIP = b"\x1f\x8b"
_SNIFFED, _SNIFFED_BYTES = 50, 2**20  # lines, and bytes, by which the separator is found
_CHUNK = 2**20
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_OTHER_FILES = {
    b"PK\x03\x04": "a zip archive or a spreadsheet (xlsx, ods)",
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "a NumPy array",
    b"\xd0\xcf\x11\xe0": "a spreadsheet (xls)",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"SQLite format": "a database",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
}


def read_csv(
    name: str,
    content: bytes,
    text_columns: frozenset[str] = frozenset(),
    limits: TableLimits = LIMITS,
) -> Table:
    """Return the table that a CSV file holds, gzipped or not.

    Args:
        name: the file, for messages.
        content: its bytes.
        text_columns: columns to keep as text, whatever they hold.
        limits: how large the table may be.
    """
    if content.startswith(_GZIP):
        content = unpacked(name, content, limits)
    check_text(name, content)
    delimiter = sniffed(content)
    records = _records(name, content, delimiter)
    _, header = next(records, (0, []))
    names = [cell.strip() for cell in header]
    check_names(name, names, limits.columns)
    lines: list[int] = []
    rows: list[list[str]] = []
    for line, cells in records:
        if len(cells) != len(names):
            if len(names) == 1:
                raise _unnamed(name, names[0], line, len(cells), delimiter)
            raise _ragged(name, line, len(cells), len(names), delimiter)
        lines.append(line)
        rows.append(cells)
        if len(rows) % 1024 == 0:
            limits.check_cells(name, len(rows), len(names))
    limits.check_cells(name, len(rows), len(names))
    if not rows:
        raise DataError(
            f"{name} has the names of {len(names)} columns and no rows; expected at least one row. "
            "Check that it was saved whole."
        )
    columns = {}
    for column, below in zip(names, zip(*rows, strict=True), strict=True):
        columns[column] = make_column(name, column, below, lines, column in text_columns)
    separated = f"{len(names):,} columns, separated by {DELIMITERS[delimiter]}"
    note = f"{len(rows):,} rows of {separated if len(names) > 1 else 'one column'}"
    return Table(name, columns, tuple(lines), notes=(note,))


def unpacked(name: str, content: bytes, limits: TableLimits) -> bytes:
    """Return what a gzip file holds; one that is damaged or unpacks to too much is a `DataError`.

    Args:
        name: the file, for messages.
        content: its bytes.
        limits: how much it may unpack to.
    """
    parts: list[bytes] = []
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            while part := stream.read(_CHUNK):
                parts.append(part)
                size += len(part)
                limits.check_bytes(name, size, len(content))
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{name} cannot be unpacked ({error}); expected a complete gzip file. Copy or download "
            "it again."
        ) from error
    return b"".join(parts)


def check_text(name: str, content: bytes) -> None:
    """Raise a `DataError` unless the content is UTF-8, with or without a mark, and not empty."""
    for start, encoding in _OTHER_ENCODINGS.items():
        if content.startswith(start):
            raise _not_utf8(name, f"begins like {encoding}")
    for start, kind in _OTHER_FILES.items():
        if content.startswith(start):
            raise DataError(
                f"{name} is {kind}; expected a CSV file. Save it as CSV in UTF-8, or name the file "
                "after what it is (.csv, .csv.gz, .parquet, .npz)."
            )
    nul = content.find(b"\0")
    if nul >= 0:
        raise _not_utf8(name, f"has a NUL byte at byte {nul:,}")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(
            name, f"has the byte 0x{content[error.start]:02x} at byte {error.start:,}"
        ) from error
    if not content.removeprefix(codecs.BOM_UTF8).strip():
        raise DataError(
            f"{name} is empty; expected a line with the names of the columns, and rows below it. "
            "Check that it was saved whole."
        )


def _not_utf8(name: str, found: str) -> DataError:
    return DataError(
        f"{name} {found}, so it is not text in UTF-8; expected a CSV file in UTF-8. Save it again "
        "with that encoding (in a spreadsheet: CSV UTF-8)."
    )


def sniffed(content: bytes) -> str:
    """Return the sign that separates the cells: the one by which most lines have as many cells."""
    head = content[:_SNIFFED_BYTES]

    def fit(delimiter: str) -> tuple[float, int]:
        """How well a sign fits: the share of lines like the first one, then their cells."""
        lines = csv.reader(_text(head, "replace"), delimiter=delimiter)
        try:
            widths = [len(cells) for cells in itertools.islice(lines, _SNIFFED) if cells]
        except csv.Error:
            return (0.0, 0)
        if len(head) < len(content) and 1 < len(widths) < _SNIFFED:
            widths.pop()  # it may be cut off
        if not widths or widths[0] < 2:
            return (0.0, 0)
        return (sum(width == widths[0] for width in widths) / len(widths), widths[0])

    # A cell may hold other signs, so a sign that fits some lines only is no match for a better.
    return max(DELIMITERS, key=lambda delimiter: fit(delimiter))


def _text(content: bytes, errors: str = "strict") -> io.TextIOWrapper:
    """The content as text, decoded as it is read: a second copy of all of it would be large."""
    return io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", errors, newline="")


def _records(name: str, content: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each record that has any."""
    reader = csv.reader(_text(content), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise DataError(
                f"{name} cannot be read from line {line} on ({error}); expected cells of at most "
                f"{csv.field_size_limit():,} characters, and quotes that are closed, with nothing "
                "between the quote and the next separator. Correct the line."
            ) from error
        if cells is None:
            return
        if cells:
            yield line, cells


def _unnamed(name: str, first: str, line: int, found: int, delimiter: str) -> DataError:
    return DataError(
        f"{name} has one name in its first line, {quoted(first)}, and {found:,} cells in line "
        f"{line} (separated by {DELIMITERS[delimiter]}); expected a name for each column. Put the "
        "names in the first line, or quotes around cells that hold the separator."
    )


def _ragged(name: str, line: int, found: int, expected: int, delimiter: str) -> DataError:
    return DataError(
        f"{name} has {found:,} cells in line {line}; expected {expected:,}, as many as names in "
        f"the first line (separated by {DELIMITERS[delimiter]}). Correct the line, or put quotes "
        "around cells that hold the separator."
    )
