"""What the splits of a table share, and what they do not."""

import numpy as np

from tests.data.tables.table_files import TASKS, assay_rows, csv_bytes
from tests.data.tables.test_loading import OPTIONS, pools
from towpath.data import load_table


def test_standardisation_is_that_of_the_training_tasks_in_every_split(table):
    found = pools(table, **OPTIONS)
    used = np.unique(np.concatenate([task.rows for task in found["train"].tasks]))
    values = np.array([[float(r["x"]), float(r["y"] or "nan")] for r in assay_rows()])[used]
    for pool in found.values():
        assert pool.scaling is not None
        np.testing.assert_allclose(pool.scaling.mean, np.nanmean(values, 0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(pool.scaling.scale, np.nanstd(values, 0), rtol=1e-5)
        assert np.isfinite(pool.take(np.arange(40))).all()


def test_held_out_tasks_leave_no_trace_in_training(table, tmp_path):
    """Other rows, measured in test tasks only, change nothing in training."""
    test = [task.name for task in load_table(table, "test", **OPTIONS).tasks]
    extra = [dict(row) for row in assay_rows()]
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
