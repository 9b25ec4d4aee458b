"""Rows of other tables as inputs: by name, computed of text, standardised as in training."""

import numpy as np
import pytest

from tests.training.tables import FEATURES, compounds, write_assays, write_rows
from towpath.data import DataError, EpisodeSpec, load_table, stream_of
from towpath.data.tables import Scaling
from towpath.data.tables.sampler import TableSampler
from towpath.data.tables.trained import TrainedTable


def trained(path, **options) -> TrainedTable:
    stream = stream_of(load_table(path, **options), EpisodeSpec(2, 2, 2))
    assert isinstance(stream, TableSampler)
    return TrainedTable.of(stream)


def test_new_rows_are_standardised_by_the_training_tasks(tmp_path):
    path = write_assays(tmp_path / "assays.csv")
    options = {"features": FEATURES, "id": "compound", "splits": {"by": "task"}}
    kept = trained(path, **options)
    pool = load_table(path, **options)
    new = compounds(6, seed=4)
    rows = kept.rows(write_rows(tmp_path / "new.csv", FEATURES, new.tolist()))
    assert pool.scaling is not None
    np.testing.assert_array_equal(rows.inputs, pool.scaling.apply(new.astype(np.float32)))
    assert rows.tensor().shape == (6, 4)
    assert kept.classes == ("0", "1")
    again = kept.rows(path)  # the training table itself: the same inputs as in training
    np.testing.assert_array_equal(again.inputs, pool.take(np.arange(len(again.rows))))
    assert again.names("compound")[:2] == ["C000", "C001"]
    assert again.names("")[:2] == ["line 2", "line 3"]


def test_text_is_hashed_as_in_training_and_rows_without_text_are_left_out(tmp_path):
    words = [f"order {i} now" if i % 2 else f"cancel {i} please" for i in range(40)]
    rows = [[word, f"customer {i % 4}", i // 4 % 2] for i, word in enumerate(words)]
    path = write_rows(tmp_path / "t.csv", ["utterance", "task", "target"], rows)
    text = {"kind": "hashed-text", "column": "utterance", "features": 64}
    kept = trained(path, features=text)
    assert kept.computed_features == (text,)
    new = write_rows(tmp_path / "n.csv", ["id", "utterance"], [[1, words[3]], [2, ""], [3, "x"]])
    found = kept.rows(new)
    assert found.rows.tolist() == [0, 2]
    pool = load_table(path, "all", features=text)
    np.testing.assert_allclose(found.inputs[0], pool.take(np.array([3]))[0])


def test_a_missing_column_and_a_word_are_told(tmp_path):
    path = write_assays(tmp_path / "assays.csv")
    kept = trained(path, features=FEATURES, id="compound", splits={"by": "task"})
    lacking = write_rows(tmp_path / "a.csv", ["mass", "logp"], [[1, 2]])
    with pytest.raises(DataError, match="no column 'rings' and 1 more; expected the 4 features"):
        kept.rows(lacking)
    empty = write_rows(tmp_path / "b.csv", FEATURES, [["", 1, 2, 3]])
    assert kept.rows(empty).inputs[0, 0] == 0  # the training mean


def test_the_scale_of_new_targets_is_that_of_an_episode():
    nothing = np.zeros(0, np.float32)
    kept = TrainedTable((), Scaling(nothing, nothing), spread=3.0)
    assert kept.target_scale([1.0, 1.0]).scale == pytest.approx(3 * np.sqrt(0.5))
