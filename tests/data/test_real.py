"""The real sets, where the folder of real data is (TOWPATH_DATA); skipped elsewhere."""

import time

import numpy as np
import pytest

from tests.data.test_glyphs import nearest_neighbour_accuracy
from towpath.cli import main as cli
from towpath.data import EpisodeSampler, EpisodeSpec, load, load_images
from towpath.data.archive import unpack
from towpath.data.omniglot import VALIDATION_ALPHABETS


def test_verify_reports_the_official_counts(real_root, capsys):
    assert cli.main(["data", "verify", "--data-root", str(real_root)]) == 0
    out = capsys.readouterr().out
    for line in (
        "background: 964 characters in 30 alphabets, 20 images each",
        "evaluation: 659 characters in 20 alphabets, 20 images each",
        "train: 64 classes, 100 images each",
        "validation: 16 classes, 100 images each",
        "test: 20 classes, 100 images each",
        "50 classes with 2,953 images",
    ):
        assert line in out


def test_omniglot_is_split_30_20_with_five_alphabets_held_out(real_root):
    pools = {s: load("omniglot", real_root, s) for s in ("train", "validation", "test")}
    assert {s: len(pool.groups) for s, pool in pools.items()} == {
        "train": 25,
        "validation": 5,
        "test": 20,
    }
    assert set(pools["validation"].groups) == set(VALIDATION_ALPHABETS)
    assert len(pools["train"]) + len(pools["validation"]) == 964
    assert len(load("omniglot", real_root, "train", rotations=True)) == 4 * len(pools["train"])


def test_omniglot_trains_on_30_alphabets_as_the_paper_does(real_root):
    pools = {s: load("omniglot", real_root, s, alphabets=30) for s in ("train", "validation")}
    assert (len(pools["train"]), len(pools["train"].groups)) == (761, 30)
    assert (len(pools["validation"]), len(pools["validation"].groups)) == (203, 30)
    assert min(len(own) for own in pools["validation"].groups.values()) == 5


def test_omniglot_loads_a_second_time_within_a_second(real_root):
    load("omniglot", real_root, "train")
    load("omniglot", real_root, "test")
    started = time.perf_counter()
    load("omniglot", real_root, "train")
    load("omniglot", real_root, "test")
    assert time.perf_counter() - started < 1.0


def test_omniglot_pixels_give_the_known_nearest_neighbour_figure(real_root):
    # 40.6 per cent is known for 5-way 1-shot tasks within an alphabet; 300 tasks give +-1.1.
    assert abs(nearest_neighbour_accuracy(load("omniglot", real_root, "train"), 300) - 0.406) < 0.03


def test_omniglot_is_ink_on_empty_paper(real_root):
    pool = load("omniglot", real_root, "train")
    x = EpisodeSampler(pool, seed=0).episode(0).query_x
    assert x.shape == (75, 1, 28, 28)
    assert 0.02 < float(x.mean()) < 0.25
    assert float(x.max()) == 1.0


def test_the_unpacked_folder_gives_the_pixels_of_the_zip(real_root, tmp_path):
    unpack(real_root / "omniglot" / "images_evaluation.zip", tmp_path / "omniglot")
    unpacked = load_images("omniglot", tmp_path, "test")
    packed = load_images("omniglot", real_root, "test")
    assert unpacked.classes == packed.classes
    assert np.array_equal(unpacked.images, packed.images)


@pytest.mark.parametrize(
    ("name", "split", "shape"),
    [("mini-imagenet", "train", (3, 84, 84)), ("cub", "test", (3, 84, 84))],
)
def test_photographs_make_any_shot_episodes(real_root, name, split, shape):
    pool = load(name, real_root, split)
    sampler = EpisodeSampler(pool, EpisodeSpec(5, "any", 15), seed=0)
    summary = sampler.summarise(range(500))
    # mini-ImageNet has 100 images a class: 50 + 15 always fit. CUB has 48 to 60: they do not.
    assert (summary.capped_episodes > 0) == (name == "cub")
    episode = sampler.episode(0)
    assert episode.support_x.shape[1:] == shape
    assert 0.1 < float(episode.query_x.mean()) < 0.9
