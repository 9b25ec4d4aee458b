"""Files of features are read as they were saved, and refused in a sentence where they are wrong."""

from typing import Any

import numpy as np
import pytest

from towpath.data import ClassPool, DataError, load, load_features, verify
from towpath.data.feature_file import features_bytes
from towpath.data.registry import is_own_features, is_own_folder, is_own_table, load_images

LABELS = np.repeat([f"c{i}" for i in range(6)], 3)
FEATURES = np.random.default_rng(0).standard_normal((18, 4)).astype(np.float32)
SPLITS = np.repeat(["train", "validation", "test"], 6)


@pytest.fixture
def save(tmp_path):
    def save(**arrays):
        path = tmp_path / "birds.features.npz"
        np.savez(path, **{"features": FEATURES, "labels": LABELS, **arrays})
        return str(path)

    return save


def test_rows_are_filed_under_their_class_and_split_in_any_order(save):
    order = np.random.default_rng(1).permutation(18)
    path = save(features=FEATURES[order], labels=LABELS[order], splits=SPLITS[order])
    pool = load(path, split="validation")
    assert isinstance(pool, ClassPool)
    assert pool.names == ["c2", "c3"]
    assert pool.name == "birds"
    for position, name in enumerate(pool.names):
        own = [FEATURES[i] for i in order if LABELS[i] == name]  # rows of a class keep their order
        assert np.array_equal(pool.take(position, range(3)), np.array(own))
    assert load_features(path, "all").image_count == 18
    assert "classes a split: train 2, validation 2, test 2 (as in the file)" in pool.notes
    assert verify(path).ok


def test_without_splits_classes_are_dealt_and_whole_numbers_are_names(save):
    path = save(labels=np.repeat(np.arange(6), 3))
    names = {split: load(path, split=split).names for split in ("train", "validation", "test")}
    assert sorted(name for own in names.values() for name in own) == list("012345")
    assert all(names.values())
    assert load(path).content == load(path, split="test").content != ""


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "x.features.npz"
    groups = ["g"] * 9 + ["h"] * 9
    path.write_bytes(features_bytes(FEATURES, list(LABELS), list(SPLITS), groups))
    pool = load(str(path), split="test")
    assert isinstance(pool, ClassPool)
    assert list(pool.groups) == ["h"]
    assert np.array_equal(pool.take(0, [0, 1, 2]), FEATURES[12:15])


def test_a_file_of_features_is_no_table_and_no_folder(save):
    path = save()
    assert is_own_features(path)
    assert not is_own_table(path)
    assert not is_own_folder(path)
    with pytest.raises(DataError, match="has no images; expected a set of images"):
        load_images(path)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "labels missing": ({"labels": None}, r"has no array 'labels'; expected features \[N, D\]"),
    "unknown array": ({"classes": LABELS}, r"an array 'classes'; expected features, labels"),
    "unknown split": ({"splits": np.repeat(["train", "tset"], 9)}, r"split 'tset'.*'test'"),
    "short labels": ({"labels": LABELS[:-1]}, r"labels of shape \[17\]; expected \[18\]"),
    "float labels": ({"labels": np.ones(18)}, r"labels of float64; expected texts or whole"),
    "empty label": ({"labels": np.array(["a", ""] * 9)}, r"empty text in labels, first in row 1"),
    "flat features": ({"features": FEATURES[:, 0]}, r"features of float32 \[18\]; expected number"),
    "not finite": ({"features": np.where(FEATURES > 1, np.nan, FEATURES)}, r"no finite float32"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_answered_with_what_to_do(tmp_path, name):
    arrays, message = WRONG[name]
    path = tmp_path / "birds.features.npz"
    whole: dict[str, Any] = {"features": FEATURES, "labels": LABELS, **arrays}
    np.savez(path, **{key: value for key, value in whole.items() if value is not None})
    with pytest.raises(DataError, match=message):
        load(str(path))


def test_a_class_of_two_splits_is_refused_unless_it_is_allowed(save):
    path = save(splits=np.array(["train", "test", "train"] * 6))
    with pytest.raises(DataError, match=r"class 'c0' in test and in train.*shared_classes"):
        load(path, split="test")
    assert len(load(path, split="test", shared_classes=True)) == 6


def test_a_missing_file_and_a_missing_split_are_named(save, tmp_path):
    with pytest.raises(DataError, match=r"nothing\.features\.npz"):
        load(str(tmp_path / "nothing.features.npz"))
    path = save(splits=np.repeat("train", 18))
    with pytest.raises(DataError, match=r"has no split 'test'; it has train"):
        load(path, split="test")
