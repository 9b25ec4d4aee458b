"""A table from file to pool."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.tables.table_files import TASKS, assay_rows, csv_bytes, npz_bytes, wide_rows
from towpath.data import DataError, load, load_table
from towpath.data.tables.pool import TablePool

OPTIONS = {"tasks": TASKS, "id": "id"}


def pools(path, **options) -> dict[str, TablePool]:
    return {s: load_table(path, s, **options) for s in ("train", "validation", "test")}


def test_a_wide_table_is_loaded_with_what_was_done_told(table):
    found = pools(table, **OPTIONS)
    assert [len(pool) for pool in found.values()] == [8, 2, 2]
    pool = found["train"]
    assert pool.name == "assays"
    assert pool.input_shape == (2,)
    assert pool.feature_names == ("x", "y")
    assert pool.row_name(3) == "003"
    text = "\n".join(pool.notes)
    for words in (
        "40 rows of 16 columns, separated by comma",
        "layout: wide, 12 tasks",
        "classification, because",
        "tasks a split: train 8, validation 2, test 2",
        "dropped 1 constant column: 'same'",
        "4 of 80 feature values are missing",
    ):
        assert words in text


def test_targets_are_the_cells_of_the_file(table):
    pool = load_table(table, "all", **OPTIONS)
    assert [task.name for task in pool.tasks] == TASKS
    found = assay_rows()
    for task in pool.tasks:
        for row, code in zip(task.rows.tolist(), task.targets.tolist(), strict=True):
            assert found[row][task.name] == int(task.labels[code])
        assert len(task) == sum(row[task.name] != "" for row in found)


@given(st.sampled_from(["task", "group"]), st.integers(0, 20))
@settings(max_examples=15, deadline=None)
def test_no_task_is_in_two_splits(tmp_path_factory, by, seed):
    path = tmp_path_factory.mktemp("t") / "assays.csv"
    path.write_bytes(csv_bytes(assay_rows(20)))
    options = {**OPTIONS, "groups": {"prefix": "_"}, "splits": {"by": by, "seed": seed}}
    names = [t.name for pool in pools(path, **options).values() for t in pool.tasks]
    assert sorted(names) == sorted(TASKS)


def test_no_class_of_a_table_of_labels_is_in_two_splits(tmp_path):
    path = tmp_path / "k.csv"
    labels = [{"x": i, "label": f"class {i % 12}"} for i in range(60)]
    path.write_bytes(csv_bytes(labels))
    found = pools(path)
    classes = [label for pool in found.values() for label in pool.tasks[0].labels]
    assert len(classes) == len(set(classes)) == 12
    assert [len(pool) for pool in found.values()] == [1, 1, 1]
    task = found["test"].tasks[0]
    for row, code in zip(task.rows.tolist(), task.targets.tolist(), strict=True):
        assert task.labels[code] == labels[row]["label"]


def test_a_long_table_is_a_regression_if_its_targets_are_real(tmp_path):
    path = tmp_path / "sensors.csv"
    path.write_bytes(
        csv_bytes([{"x": i, "task": f"{i % 5:03}", "target": i / 7} for i in range(50)])
    )
    pool = load_table(path, "train")
    assert pool.is_regression
    assert {task.name for task in pool.tasks} <= {f"{i:03}" for i in range(5)}
    targets = np.concatenate([task.targets for task in pool.tasks])
    assert pool.target_scaling is not None
    assert pool.target_scaling.mean[0] == pytest.approx(targets.mean(), rel=1e-6)
    assert pool.target_scaling.scale[0] == pytest.approx(targets.std(), rel=1e-6)


def test_arrays_of_an_npz_file_are_named_as_a_whole(tmp_path):
    path = tmp_path / "t.npz"
    draws = np.random.default_rng(0)
    path.write_bytes(npz_bytes(x=draws.normal(size=(30, 4)), y=draws.integers(0, 2, (30, 6))))
    pool = load_table(path, "all", features=["x"], tasks=["y"])
    assert pool.input_shape == (4,)
    assert [task.name for task in pool.tasks] == [f"y.{i}" for i in range(6)]


def test_trusted_tasks_are_a_split_of_their_own(table):
    options = {**OPTIONS, "splits": {"test": ["u_0", "u_1"], "trusted": ["u_2"]}}
    assert [t.name for t in load_table(table, "trusted", **options).tasks] == ["u_2"]
    assert len(load_table(table, "train", **options)) == 9
    with pytest.raises(DataError, match=r"no split 'validation'; it has train, test, trusted"):
        load_table(table, "validation", **options)


def test_the_content_changes_with_a_target_a_feature_and_the_split_but_not_with_the_place(
    table, tmp_path
):
    before = load_table(table, "test", **OPTIONS).content
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "assays.csv"
    other.write_bytes(table.read_bytes())
    assert load_table(other, "test", **OPTIONS).content == before
    assert load_table(table, "train", **OPTIONS).content != before
    changed = assay_rows()
    changed[0]["x"] = "99"
    other.write_bytes(csv_bytes(changed))
    assert load_table(other, "test", **OPTIONS).content != before
    changed = assay_rows()
    task = load_table(table, "test", **OPTIONS).tasks[0]
    changed[int(task.rows[0])][task.name] = 1 - changed[int(task.rows[0])][task.name]
    other.write_bytes(csv_bytes(changed))
    assert load_table(other, "test", **OPTIONS).content != before


def test_load_knows_a_table_by_its_name(table):
    pool = load(str(table), split="train", **OPTIONS)
    assert isinstance(pool, TablePool)
    assert len(pool) == 8
    with pytest.raises(DataError, match="does not take these options: image_size"):
        load(str(table), image_size=28)
    with pytest.raises(DataError, match="Did you mean 'validation'"):
        load_table(table, "validaton")


def test_two_thirds_of_a_task_table_with_one_useless_task_still_load(tmp_path):
    path = tmp_path / "t.csv"
    found = [row | {"b": 1} for row in wide_rows()]
    path.write_bytes(csv_bytes(found))
    pool = load_table(path, "all", tasks=["a", "b", "c"])
    assert [task.name for task in pool.tasks] == ["a", "c"]
    assert "left out 1 of 3 tasks (one class only): 'b'" in pool.notes


def test_a_table_of_classes_alone_takes_its_features_from_a_file(tmp_path):
    (tmp_path / "t.csv").write_text("label\n" + "".join(f"c{i % 6}\n" for i in range(36)))
    np.savez(tmp_path / "f.npz", x=np.random.default_rng(0).normal(size=(36, 3)))
    pool = load_table(tmp_path / "t.csv", "all", features="f.npz")
    assert len(pool.tasks[0].labels) == 6


def test_a_split_that_is_missing_is_answered_with_what_was_left_out_and_too_few_tasks(tmp_path):
    content = csv_bytes([row | {"same": 1} for row in wide_rows()])
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_table(tmp_path / "t.csv", "validation", tasks=["same", "a", "b"], features=["f1"])
    said = str(caught.value)
    assert "no split 'validation'; it has train (left out 1 of 3 tasks (one class only)" in said
    assert "'same'; 2 tasks are too few for train, validation, test)" in said
    assert "Name more tasks" in said
