"""Parts of features side by side, and the options of their kinds."""

import numpy as np
import pytest

from towpath.data.errors import DataError
from towpath.data.tables.columns import NumberColumn, Table
from towpath.data.tables.features import Part, check_size, joined

TABLE = Table("t.csv", {"x": NumberColumn("x", np.arange(3.0))})


def part(width: int, standardised: bool, usable=None) -> Part:
    values = np.full((3, width), width, np.float32)
    names = tuple(f"p{width}.{i}" for i in range(width))
    return Part(values, names, standardised, str(width), usable, (f"note {width}",))


def test_parts_stand_side_by_side_and_a_row_needs_all_of_them():
    found = joined(
        [
            part(2, True, np.array([True, True, False])),
            part(1, False, np.array([False, True, True])),
        ],
        TABLE,
    )
    assert found.values.tolist() == [[2, 2, 1]] * 3
    assert found.names == ("p2.0", "p2.1", "p1.0")
    assert found.standardised.tolist() == [True, True, False]
    assert found.usable.tolist() == [False, True, False]
    assert found.notes == ("note 2", "note 1")


def test_a_part_alone_is_not_copied():
    alone = part(2, True)
    assert joined([alone], TABLE).values is alone.values


def test_no_usable_row_is_refused():
    parts = [part(2, True, np.array([True, False, False])), part(1, True, np.array([False] * 3))]
    with pytest.raises(DataError, match="no row with features"):
        joined(parts, TABLE)


def test_a_matrix_beyond_the_memory_is_refused():
    check_size("t", 1000, 1000)
    with pytest.raises(DataError, match=r"1,000,000 rows x 2,048 columns, 7\.6 GiB"):
        check_size("t", 10**6, 2048)
