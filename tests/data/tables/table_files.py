"""Small tables that the tests are made of."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Row = dict[str, Any]


def wide_rows(count: int = 12) -> list[Row]:
    """Rows with two features and the tasks a, b and c, which are not all measured."""
    return [
        {
            "f1": i / 4,
            "f2": (7 * i) % 5,
            "a": i % 2,
            "b": "" if i % 4 == 3 else i // 2 % 2,
            "c": (i + 1) % 2,
        }
        for i in range(count)
    ]


def csv_bytes(rows: Sequence[Mapping[str, object]], delimiter: str = ",") -> bytes:
    """The rows as a CSV file; cells are written as they are."""
    lines = [delimiter.join(rows[0])]
    lines += [delimiter.join(str(cell) for cell in row.values()) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def npz_bytes(**arrays: np.ndarray) -> bytes:
    """The arrays as an NPZ file."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def parquet_bytes(**columns: Sequence[object]) -> bytes:
    """The columns as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(pa.table(columns or {"f": [1.0, 2.0], "a": [0, 1]}), stream)
    return stream.getvalue()


TASKS = [f"{group}_{i}" for group in "uvw" for i in range(4)]


def assay_rows(count: int = 40, seed: int = 0):
    draws = np.random.default_rng(seed)
    return [
        {
            "id": f"00{i}",
            "x": f"{draws.normal(10, 3):.6f}",
            "y": "" if i % 10 == 3 else f"{draws.normal():.6f}",
            "same": 1,
            **{task: "" if draws.random() < 0.3 else int(draws.random() < 0.5) for task in TASKS},
        }
        for i in range(count)
    ]
