from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.data.makers import contents, marked_pool
from towpath.data import DataError, EpisodeSampler, EpisodeSpec, Windows, mixed
from towpath.data.mix import own_stream

OWN = replace(marked_pool({"a": 8, "b": 9}), name="own")
OTHER = replace(marked_pool({"x": 8, "y": 9}), name="other")
THIRD = replace(marked_pool({"z": 8}), name="third")
SPEC = EpisodeSpec(3, 1, 4, within_group=False)


def test_the_shares_of_the_pools_are_met():
    stream = mixed(OWN, [(0.5, OTHER), (0.2, THIRD)], SPEC, seed=3)
    found = [stream.episode(index).info["set"] for index in range(1500)]
    counts = [found.count(name) for name in ("own", "other", "third")]
    assert stats.chisquare(counts, [450, 750, 300]).pvalue > 1e-3


def test_every_task_says_whether_it_is_off_target_and_of_which_set():
    stream = mixed(OWN, [(0.6, OTHER)], SPEC, seed=3)
    for index in range(40):
        info = stream.episode(index).info
        assert info["off_target"] == (info["set"] == "other")
        assert info["group"] == info["set"]  # tasks across groups
        assert info["wrong"] == 0.0
    within = mixed(OWN, [(0.6, OTHER)], replace(SPEC, within_group=True), seed=3)
    assert {within.episode(index).info["group"] for index in range(60)} == set("abxy")


def test_own_tasks_are_those_of_the_stream_without_a_mix():
    stream, plain = mixed(OWN, [(0.6, OTHER)], SPEC, seed=3), EpisodeSampler(OWN, SPEC, 3)
    own = [i for i in range(60) if not stream.episode(i).info["off_target"]]
    assert 10 < len(own) < 40
    mine, theirs = [stream.episode(i) for i in own], [plain.episode(i) for i in own]
    assert contents([mine]) == contents([theirs])
    unmixed = own_stream(stream)
    assert isinstance(unmixed, EpisodeSampler)
    assert unmixed.pool is OWN
    assert own_stream(plain) is plain


def test_label_noise_is_that_of_the_own_tasks_alone():
    noisy = replace(SPEC, label_noise=1.0, noise_kind="flip")
    stream = mixed(OWN, [(0.5, OTHER)], noisy, seed=3)
    for index in range(40):
        info = stream.episode(index).info
        assert info["mislabelled"] != info["off_target"]
    off = mixed(OWN, [(0.5, OTHER)], replace(SPEC, label_noise=0.5, noise_kind="off-target"), 3)
    assert not any(off.episode(index).info["mislabelled"] for index in range(40))


def test_workers_and_order_change_nothing():
    stream = mixed(OWN, [(0.5, OTHER)], SPEC, seed=9)
    found = []
    for workers in (0, 1, 2):
        with Windows(stream, 2, 5, workers=workers) as windows:
            window = [batch for _ in range(3) for batch in next(windows)]
        found.append((contents(window), [[task.info for task in batch] for batch in window]))
    assert found[0] == found[1] == found[2]
    again = [mixed(OWN, [(0.5, OTHER)], SPEC, seed=9).episode(i) for i in reversed(range(30))]
    assert [[task.info for task in again[::-1][5 * b : 5 * b + 5]] for b in range(6)] == found[0][1]


def test_statistics_count_the_tasks_of_all_pools():
    stream = mixed(OWN, [(0.5, OTHER)], replace(SPEC, within_group=True), seed=3)
    summary = stream.summarise(range(80))
    assert summary.episodes == 80
    assert summary.classes == 240
    assert summary.groups == {
        name: sum(stream.group_of(index) == name for index in range(80)) for name in "abxy"
    }
    assert stream.group_frequencies == pytest.approx(dict.fromkeys("abxy", 0.25))
    assert stream.notes == ()
    assert (stream.seed, stream.stream, stream.spec.ways) == (3, "episodes", 3)


def test_shares_that_are_none_are_refused():
    for shares in ([0.6, 0.6], [-0.1], [1.2]):
        with pytest.raises(DataError, match="add up to at most 1"):
            mixed(OWN, [(share, OTHER) for share in shares], SPEC)


def test_grey_images_are_repeated_in_colour_and_colour_becomes_grey():
    grey = OWN.with_channels(3)
    assert grey.image_shape == (3, 2, 2)
    taken = grey.take(0, [0, 1])
    assert taken.shape == (2, 3, 2, 2)
    assert all(np.array_equal(taken[:, c], OWN.take(0, [0, 1])[:, 0]) for c in range(3))
    assert EpisodeSampler(grey, SPEC).episode(0).support_x.shape == (3, 3, 2, 2)
    colour = replace(OWN, images=np.repeat(OWN.images, 3, axis=1))
    assert np.array_equal(colour.with_channels(1).take(0, [0, 1]), OWN.take(0, [0, 1]))
    red = replace(OWN, images=np.concatenate([OWN.images, 0 * OWN.images, 0 * OWN.images], axis=1))
    assert red.with_channels(1).take(3, [0])[0, 0, 1, 0] == round(0.299 * 255)
    with pytest.raises(DataError, match="1 for grey or 3 for colour"):
        OWN.with_channels(2)
