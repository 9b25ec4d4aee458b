"""A class pool of vectors: tasks are drawn from it as from images, with the numbers as they are."""

import numpy as np
import pytest
import torch

from towpath.data import ClassEntry, DataError, EpisodeSampler, EpisodeSpec, FeaturePool

ENTRIES = tuple(ClassEntry(f"c{i}", "all", 6 * i, 6) for i in range(4))
VECTORS = np.arange(24 * 3, dtype=np.float32).reshape(24, 3) / 7 - 4


def pool(vectors=VECTORS):
    return FeaturePool("set", "train", vectors, ENTRIES)


def test_a_task_holds_the_vectors_of_its_classes_unchanged():
    sampler = EpisodeSampler(pool(), EpisodeSpec(3, 2, 2, within_group=False), seed=4)
    for index in range(5):
        draw, task = sampler.draw(index), sampler.episode(index)
        assert task.support_x.shape == (6, 3)
        assert task.query_x.dtype == torch.float32
        rows = np.concatenate(
            [6 * c + own for c, own in zip(draw.classes, draw.query, strict=True)]
        )
        assert torch.equal(task.query_x, torch.from_numpy(VECTORS[rows]))


def test_noise_that_is_in_the_pool_moves_vectors():
    spec = EpisodeSpec(3, 2, 2, within_group=False, label_noise=0.5, noise_kind="images")
    noisy = EpisodeSampler(pool(), spec, seed=1)
    clean = EpisodeSampler(pool(), spec.clean, seed=1)
    changed = [
        not torch.equal(noisy.episode(i).support_x, clean.episode(i).support_x) for i in range(4)
    ]
    assert any(changed)
    assert all(noisy.episode(i).support_x.shape == (6, 3) for i in range(4))


def test_shape_and_description_speak_of_vectors():
    made = pool()
    assert made.input_shape == (3,)
    assert not made.of_images
    assert made.describe() == "set, train: 4 classes, 6 vectors each, 24 vectors of 3 numbers"
    assert made.counted() == "4 classes, 24 vectors"


def test_what_only_images_can_do_is_refused():
    with pytest.raises(DataError, match=r"vectors of 3 numbers.*images of 3 channels.*Choose"):
        pool().with_channels(3)
    with pytest.raises(DataError, match="cannot be rotated"):
        pool().with_rotations()
    with pytest.raises(DataError, match=r"features of set are float64 \[24, 3\].*float32 \[N, D\]"):
        pool(VECTORS.astype(np.float64))
