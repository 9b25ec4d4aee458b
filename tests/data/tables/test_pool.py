"""What a table pool holds, leaves out and refuses."""

import pickle

import numpy as np
import pytest

from towpath.data import DataError
from towpath.data.tables import Scaling, TablePool, TableTask


def task(name, group, targets, labels=("no", "yes")):
    kind = np.int64 if labels else np.float64
    return TableTask(name, group, np.arange(len(targets)), np.array(targets, kind), labels)


FEATURES = np.arange(20, dtype=np.float32).reshape(10, 2)
TASKS = (
    task("a", "left", [0, 0, 0, 1, 1, 1]),
    task("b", "left", [0, 1, 1, 1, 1]),
    task("c", "right", [0, 0, 1, 2, 2], ("low", "mid", "high")),
)
POOL = TablePool("assays", "train", FEATURES, TASKS)
NUMBERS = TablePool("numbers", "train", FEATURES, (task("r", "all", [0.5, 1.5, 2.5], ()),))


def test_groups_hold_the_positions_of_their_tasks():
    assert POOL.groups == {"left": (0, 1), "right": (2,)}
    assert (len(POOL), POOL.target_count, POOL.input_shape) == (3, 16, (2,))
    assert not POOL.is_regression
    assert NUMBERS.is_regression


def test_small_classes_and_tasks_are_left_out_and_codes_stay_dense():
    kept = POOL.at_least(2)
    assert [t.name for t in kept.tasks] == ["a", "c"]
    assert kept.tasks[1].labels == ("low", "high")
    assert kept.tasks[1].targets.tolist() == [0, 0, 1, 1]
    assert kept.tasks[1].rows.tolist() == [0, 1, 3, 4]
    with pytest.raises(DataError, match=r"2 classes of 4 rows; the largest, 'a', has 2 classes"):
        POOL.at_least(4)
    with pytest.raises(DataError, match=r"has 4 rows; the largest, 'r', has 3"):
        NUMBERS.at_least(4)


def test_only_keeps_groups_and_answers_a_misspelt_one():
    assert [t.name for t in POOL.only(["right"]).tasks] == ["c"]
    with pytest.raises(DataError, match=r"'rihgt'.*Did you mean 'right'"):
        POOL.only(["rihgt"])


def test_take_standardises_a_copy():
    rows = np.array([0, 2])
    scaled = TablePool("x", "train", FEATURES, TASKS, Scaling.of(FEATURES)).take(rows)
    np.testing.assert_allclose(scaled, (FEATURES[rows] - FEATURES.mean(0)) / FEATURES.std(0), 1e-5)
    POOL.take(rows)[:] = -1
    assert FEATURES.min() == 0


def test_a_pool_is_sent_to_workers_without_its_features(tmp_path):
    np.save(tmp_path / "f.npy", np.zeros((4000, 50), np.float32))
    mapped = np.load(tmp_path / "f.npy", mmap_mode="r")
    sent = pickle.dumps(TablePool("x", "train", mapped, TASKS, Scaling.of(mapped)))
    assert len(sent) < 10_000
    back = pickle.loads(sent)
    assert back.take(np.array([3])).shape == (1, 50)


def test_wrong_pools_are_refused():
    with pytest.raises(DataError, match="no tasks"):
        TablePool("x", "train", FEATURES, ())
    with pytest.raises(DataError, match="float64"):
        TablePool("x", "train", FEATURES.astype(float), TASKS)
    with pytest.raises(DataError, match="tasks of classes and tasks of real numbers"):
        TablePool("x", "train", FEATURES, TASKS + NUMBERS.tasks)
    with pytest.raises(DataError, match="one target a row"):
        TableTask("x", "all", np.arange(3), np.zeros(2, np.int64), ("a", "b"))
    with pytest.raises(DataError, match="scale that is not positive"):
        Scaling(np.zeros(2, np.float32), np.zeros(2, np.float32))


def test_describe_is_one_line_for_people():
    assert POOL.describe() == (
        "assays, train: 3 tasks in 2 groups, 5 to 6 labels each, 16 in all, "
        "on 10 rows with 2 features, 2 to 3 classes"
    )
    assert NUMBERS.describe().endswith("1 task, 3 numbers, on 10 rows with 2 features, regression")
