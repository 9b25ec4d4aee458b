import numpy as np
import pytest

from tests.data.makers import marked_pool, marks
from towpath.data import ClassPool, DataError, EpisodeSampler, EpisodeSpec

POOL = marked_pool({"a": 3, "b": 2}, images=[4, 9, 9, 2, 9])


def test_groups_hold_the_positions_of_their_classes():
    assert POOL.groups == {"a": (0, 1, 2), "b": (3, 4)}
    assert len(POOL) == 5
    assert POOL.image_count == 33
    assert POOL.image_shape == (1, 2, 2)


def test_take_is_a_copy_of_the_rows_of_one_class():
    taken = POOL.take(1, [8, 0])
    assert taken[:, 0, 0].tolist() == [[1, 8], [1, 0]]
    taken[:] = 0
    assert POOL.take(1, [8])[0, 0, 0].tolist() == [1, 8]


def test_rotations_are_classes_of_their_own_without_memory():
    turned = POOL.with_rotations()
    assert len(turned) == 20
    assert turned.images is POOL.images
    assert [e.name for e in turned.classes if e.start == 0] == [
        "a/0",
        "a/0@90",
        "a/0@180",
        "a/0@270",
    ]
    upright = POOL.take(1, [3])[0, 0]
    for turns in range(4):
        assert np.array_equal(turned.take(1 + 5 * turns, [3])[0, 0], np.rot90(upright, turns))


def test_rotated_classes_come_in_episodes():
    turned = marked_pool({"a": 5}).with_rotations()
    episode = EpisodeSampler(turned, EpisodeSpec(20, 1, 1)).episode(0)
    assert sum("@90" in name for name in episode.info["classes"]) == 5
    assert len(marks(episode.support_x)) == 20


def test_only_images_that_are_square_turn():
    flat = ClassPool("flat", "train", np.zeros((33, 1, 2, 3), np.uint8), POOL.classes)
    with pytest.raises(DataError, match="square"):
        flat.with_rotations()


def test_small_classes_are_left_out_on_request():
    assert [entry.count for entry in POOL.at_least(5).classes] == [9, 9, 9]
    with pytest.raises(DataError, match="largest, 'a/1', has 9"):
        POOL.at_least(10)


def test_only_keeps_groups_and_answers_a_misspelt_one():
    assert list(POOL.only(["b"]).groups) == ["b"]
    pool = marked_pool({"Latin": 2, "Greek": 2})
    with pytest.raises(DataError, match=r"'Greeek'.*Did you mean 'Greek'"):
        pool.only(["Greeek"])


def test_a_pool_without_classes_or_with_other_pixels_is_refused():
    with pytest.raises(DataError, match="no classes"):
        ClassPool("x", "train", POOL.images, ())
    with pytest.raises(DataError, match="float64"):
        ClassPool("x", "train", POOL.images.astype(float), POOL.classes)


def test_describe_says_synthetic():
    pool = ClassPool("x", "train", POOL.images, POOL.classes, synthetic=True)
    text = pool.describe()
    assert text.startswith("x (synthetic), train: 5 classes in 2 groups, 2 to 9 images each")
