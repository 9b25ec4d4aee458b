"""Augmentation changes the pixels of training images, reproducibly, and nothing else."""

import numpy as np
import pytest
import torch

from tests.training.runs import TINY, outcome, run, tiny
from tests.training.tables import assays, write_assays
from towpath.data import EpisodeSampler, EpisodeSpec, load_images
from towpath.data.augmentation import Augmentation, AugmentedStream, augmented
from towpath.data.errors import DataError
from towpath.data.mix import mixed, own_stream
from towpath.data.randomness import Draws
from towpath.recipes.recipe import Recipe
from towpath.training.setup import prepare

ALL = Augmentation(crop=3, flip=True, jitter=0.4)


@pytest.fixture(scope="module")
def plain():
    pool = load_images("glyphs", drawings=6, scripts=("Greek", "Hebrew"))
    return EpisodeSampler(pool, EpisodeSpec(ways=3, query=4), seed=5)


def images(n=12, channels=3, height=7, width=9):
    return torch.rand(n, channels, height, width, generator=torch.Generator().manual_seed(0))


def equal(one, other):
    return all(
        torch.equal(getattr(one, part), getattr(other, part))
        for part in ("support_x", "support_y", "query_x", "query_y")
    )


def test_a_task_is_a_function_of_seed_and_index(plain):
    stream = augmented(plain, ALL)
    assert equal(stream.episode(3), augmented(plain, ALL).episode(3))
    other = EpisodeSampler(plain.pool, plain.spec, seed=6)
    assert not equal(stream.episode(3), stream.episode(4))
    assert not equal(stream.episode(3), augmented(other, ALL).episode(3))


def test_only_pixels_change(plain):
    stream = augmented(plain, ALL)
    was, now = plain.episode(3), stream.episode(3)
    assert now.info == was.info
    assert torch.equal(now.support_y, was.support_y)
    assert torch.equal(now.query_y, was.query_y)
    assert now.query_x.shape == was.query_x.shape
    assert not torch.equal(now.support_x, was.support_x)
    assert not torch.equal(now.query_x, was.query_x)
    assert (stream.spec, stream.seed, stream.stream) == (plain.spec, plain.seed, plain.stream)
    assert stream.pool is plain.pool
    assert stream.notes == plain.notes
    assert stream.group_of(3) == plain.group_of(3)
    assert stream.group_frequencies == plain.group_frequencies
    assert stream.summarise(range(4)) == plain.summarise(range(4))


def test_without_any_change_the_stream_is_the_same_object(plain):
    assert augmented(plain, Augmentation()) is plain


def test_crops_are_windows_of_the_padded_image_and_all_places_occur():
    x = images(400)
    cropped = Augmentation(crop=2).of(x, Draws("crops", 0, 0))
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (2, 2), (2, 2)))
    places = set()
    for before, after in zip(padded, cropped.numpy(), strict=True):
        found = [
            (i, j)
            for i in range(5)
            for j in range(5)
            if np.array_equal(before[:, i : i + 7, j : j + 9], after)
        ]
        assert len(found) == 1
        places.update(found)
    assert places == {(i, j) for i in range(5) for j in range(5)}


def test_about_half_of_the_images_are_mirrored_and_the_others_are_the_same():
    x = images(400)
    flipped = Augmentation(flip=True).of(x, Draws("flips", 0, 0))
    mirrored = [torch.equal(now, was.flip(-1)) for was, now in zip(x, flipped, strict=True)]
    same = [torch.equal(now, was) for was, now in zip(x, flipped, strict=True)]
    assert sum(mirrored) + sum(same) == 400
    assert 160 < sum(mirrored) < 240  # four standard deviations


@pytest.mark.parametrize("channels", [1, 3])
def test_jitter_is_brightness_contrast_and_saturation_within_their_bounds(channels):
    x = images(50, channels)
    jitter = 0.3
    changed = Augmentation(jitter=jitter).of(x, Draws("colours", 0, 0))
    assert float(changed.min()) >= 0.0
    assert float(changed.max()) <= 1.0
    words = Draws("colours", 0, 0).words(300) >> np.uint64(11)
    factors = 1 + jitter * (2 * (words * 2.0**-53).reshape(50, 6)[:, 3:] - 1)
    assert (abs(factors - 1) <= jitter).all()
    share = np.array([1.0] if channels == 1 else [0.299, 0.587, 0.114]).reshape(-1, 1, 1)
    for was, now, (b, c, s) in zip(x.double().numpy(), changed.numpy(), factors, strict=True):
        middle = (share * b * was).sum(0).mean()
        contrasted = middle + c * (b * was - middle)
        grey = (share * contrasted).sum(0)
        assert np.allclose(now, np.clip(grey + s * (contrasted - grey), 0, 1), atol=1e-6)


def test_a_grey_picture_stays_grey():
    x = images(4, 1).expand(4, 3, 7, 9)
    changed = Augmentation(jitter=0.9).of(x, Draws("grey", 0, 0))
    assert torch.allclose(changed, changed[:, :1].expand_as(changed), atol=1e-6)
    assert not torch.allclose(changed, x)


def test_each_change_is_the_same_with_and_without_the_others():
    x = images()
    crop = Augmentation(crop=2).of(x, Draws("one", 0, 0))
    both = Augmentation(crop=2, flip=True).of(x, Draws("one", 0, 0))
    assert all(
        torch.equal(now, was) or torch.equal(now, was.flip(-1))
        for was, now in zip(crop, both, strict=True)
    )


def test_a_crop_that_could_miss_the_image_and_a_table_are_refused(plain, tmp_path):
    with pytest.raises(DataError, match=r"crop is 28 with images of 28 x 28; expected a padding"):
        augmented(plain, Augmentation(crop=28))
    recipe = assays(write_assays(tmp_path / "t.csv"), augmentation={"flip": True})
    with pytest.raises(DataError, match=r"t holds rows of numbers; expected images"):
        prepare(recipe)


def test_the_stream_that_training_is_about_is_found_below_mix_and_augmentation(plain):
    both = mixed(plain.pool, [(0.5, plain.pool)], plain.spec)
    stream = augmented(both, ALL)
    assert isinstance(stream, AugmentedStream)
    assert own_stream(stream) is both.own


# in a recipe


def test_training_tasks_alone_are_augmented(tmp_path):
    recipe = tiny(augmentation={"crop": 2, "flip": True})
    setup, usual = prepare(recipe), prepare(tiny())
    (window, _), (was, _) = setup.window(0, 2), usual.window(0, 2)
    own, trusted = 2, 2
    for now, before in zip(window, was, strict=True):
        assert [equal(a, b) for a, b in zip(now, before, strict=True)] == (
            [False] * own + [True] * trusted
        )
    assert all(map(equal, setup.validation_tasks(), usual.validation_tasks()))
    assert all(map(equal, setup.test_tasks("glyphs", 3), usual.test_tasks("glyphs", 3)))


def test_an_augmented_run_is_reproducible_and_not_that_without(tmp_path):
    short = {"training": {**TINY["training"], "steps": 8}}
    recipe = tiny(augmentation={"crop": 2, "flip": True, "jitter": 0.2}, **short)
    one, two = run(tmp_path / "one", recipe), run(tmp_path / "two", recipe)
    assert outcome(one) == outcome(two)
    off = tiny(augmentation={"crop": 0, "flip": False, "jitter": 0.0}, **short)
    never = run(tmp_path / "never", tiny(**short))
    assert outcome(run(tmp_path / "off", off)) == outcome(never)
    assert outcome(never)["tensors"] != outcome(one)["tensors"]


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"crop": -1}, "augmentation.crop is -1; expected a whole number of at least 0"),
        ({"jitter": 1.5}, "augmentation.jitter is 1.5; expected at most 1"),
        ({"flips": True}, "Did you mean 'flip'?"),
        ({"flip": "yes, please"}, "augmentation.flip is 'yes, please'; expected true or false"),
    ],
)
def test_values_that_make_no_sense_are_refused_in_a_sentence(section, told):
    with pytest.raises(ValueError) as refusal:
        Recipe.of({**TINY, "augmentation": section})
    assert told in str(refusal.value)
