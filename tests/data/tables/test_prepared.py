"""What the splits of a table share, and what they do not."""

import numpy as np
import pytest

from tests.data.tables.table_files import csv_bytes
from towpath.data import load_table
from towpath.data.tables.pool import TablePool

TASKS = [f"{group}_{i}" for group in "uvw" for i in range(4)]


OPTIONS = {"tasks": TASKS, "id": "id"}


def rows(count: int = 40, seed: int = 0):
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


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "assays.csv"
    path.write_bytes(csv_bytes(rows()))
    return path


def pools(path, **options) -> dict[str, TablePool]:
    return {s: load_table(path, s, **options) for s in ("train", "validation", "test")}


def test_standardisation_is_that_of_the_training_tasks_in_every_split(table):
    found = pools(table, **OPTIONS)
    used = np.unique(np.concatenate([task.rows for task in found["train"].tasks]))
    values = np.array([[float(r["x"]), float(r["y"] or "nan")] for r in rows()])[used]
    for pool in found.values():
        assert pool.scaling is not None
        np.testing.assert_allclose(pool.scaling.mean, np.nanmean(values, 0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(pool.scaling.scale, np.nanstd(values, 0), rtol=1e-5)
        assert np.isfinite(pool.take(np.arange(40))).all()


def test_held_out_tasks_leave_no_trace_in_training(table, tmp_path):
    """Other rows, measured in test tasks only, change nothing in training."""
    test = [task.name for task in load_table(table, "test", **OPTIONS).tasks]
    extra = [dict(row) for row in rows()]
    extra.append({**extra[0], "id": "new", "x": "1000", **dict.fromkeys(TASKS, "")})
    extra[-1] |= dict.fromkeys(test, 1)
    (tmp_path / "more").mkdir()
    other = tmp_path / "more" / "assays.csv"
    other.write_bytes(csv_bytes(extra))
    before, after = (load_table(p, "train", **OPTIONS) for p in (table, other))
    assert before.scaling is not None
    assert after.scaling is not None
    np.testing.assert_array_equal(before.scaling.mean, after.scaling.mean)
    held_out = load_table(other, "test", **OPTIONS).scaling
    assert held_out is not None
    np.testing.assert_array_equal(held_out.mean, before.scaling.mean)


def test_columns_that_nobody_uses_are_told(table):
    notes = load_table(table, "train", features=["x"], tasks=TASKS, id="id").notes
    assert notes[-1] == "not used: 2 columns: 'y', 'same'"
