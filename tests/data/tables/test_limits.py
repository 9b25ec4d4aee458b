"""A table that would not fit is refused before it is held."""

import pytest

from towpath.data.errors import DataError
from towpath.data.tables.limits import TableLimits

SMALL = TableLimits(file_bytes=1000, cells=100, columns=10, ratio=5, ratio_from=200)


def test_cells_are_counted():
    SMALL.check_cells("t", 10, 10)
    with pytest.raises(DataError, match=r"11 rows of 10 columns.*more than 100 cells"):
        SMALL.check_cells("t", 11, 10)


def test_bytes_and_their_ratio_are_bounded():
    SMALL.check_bytes("t", 1000, 300)
    SMALL.check_bytes("t", 200, 1)  # too small to be a bomb
    with pytest.raises(DataError, match="more than 1,000 bytes"):
        SMALL.check_bytes("t", 1001, 900)
    with pytest.raises(DataError, match="more than 5 times"):
        SMALL.check_bytes("t", 201, 40)
