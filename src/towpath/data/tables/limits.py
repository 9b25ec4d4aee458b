"""How large a table may be: it is held in memory, and a file from a stranger may be a bomb."""

from dataclasses import dataclass

from towpath.data.errors import DataError


@dataclass(frozen=True)
class TableLimits:
    """The most that a table may hold before it is refused.

    For comparison: ToxCast unpacks to 10 MB with 5.3 million cells, ChEMBL to 18 MB with 16.5.
    """

    file_bytes: int = 256 * 2**20
    cells: int = 32 * 10**6
    columns: int = 100_000
    ratio: int = 200  # unpacked over packed; applies from `ratio_from` unpacked bytes on
    ratio_from: int = 32 * 2**20

    def check_cells(self, name: str, rows: int, columns: int) -> None:
        """Raise a `DataError` if the table has too many cells.

        Args:
            name: the file.
            rows: how many rows it has, or has so far.
            columns: how many columns.
        """
        if rows * columns > self.cells:
            raise DataError(
                f"{name} has at least {rows:,} rows of {columns:,} columns, which are more than "
                f"{self.cells:,} cells; expected a table that fits in memory. Leave out columns or "
                "rows, or put the features into an NPZ file."
            )

    def check_bytes(self, name: str, unpacked: int, packed: int) -> None:
        """Raise a `DataError` if a file unpacks to too much.

        Args:
            name: the file.
            unpacked: bytes that were unpacked so far, or that are declared.
            packed: bytes of the file.
        """
        if unpacked > self.file_bytes:
            raise DataError(
                f"{name} unpacks to more than {self.file_bytes:,} bytes; expected a table that "
                "fits in memory. Leave out columns or rows."
            )
        if unpacked > self.ratio_from and unpacked > self.ratio * max(packed, 1):
            raise DataError(
                f"{name} has {packed:,} bytes and unpacks to more than {self.ratio} times as many; "
                "expected less. It looks like a file made to fill the memory: get it again, or "
                "unpack it yourself and name the unpacked file."
            )


LIMITS = TableLimits()
