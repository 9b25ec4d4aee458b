import hashlib
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.data.makers import marked_pool, marks
from towpath.data import DataError, EpisodeSampler, EpisodeSpec

POOL = marked_pool({"small": 5, "middle": 8, "large": 13})
DEEP = marked_pool({"one": 6, "two": 7}, images=70)

specs = st.builds(
    EpisodeSpec,
    ways=st.integers(2, 5),
    shots=st.one_of(
        st.integers(1, 5),
        st.tuples(st.integers(1, 3), st.integers(3, 5)),
        st.just("any"),
    ),
    query=st.integers(1, 15),
    within_group=st.booleans(),
    groups=st.sampled_from(
        ["auto", "uniform", "size", "zipf", {"large": 2.0, "middle": 1.0}],
    ),
    label_noise=st.sampled_from([0.0, 0.5, 1.0]),
    noise_kind=st.sampled_from(["query", "support"]),
)
places = st.tuples(st.integers(0, 2**40), st.integers(0, 2**40))


@settings(max_examples=150, deadline=None)
@given(spec=specs, place=places)
def test_support_and_query_never_share_an_image(spec, place):
    seed, index = place
    episode = EpisodeSampler(POOL, spec, seed).episode(index)
    support, query = marks(episode.support_x), marks(episode.query_x)
    assert len(set(support)) == len(support)
    assert len(set(query)) == len(query)
    assert not set(support) & set(query)


@settings(max_examples=150, deadline=None)
@given(spec=specs, place=places)
def test_counts_labels_types_and_info_are_what_the_spec_says(spec, place):
    seed, index = place
    episode = EpisodeSampler(POOL, spec, seed).episode(index)
    info = episode.info
    assert episode.support_x.dtype == episode.query_x.dtype == torch.float32
    assert episode.support_y.dtype == episode.query_y.dtype == torch.int64
    assert float(episode.support_x.min()) >= 0.0
    assert float(episode.support_x.max()) == 1.0
    assert torch.bincount(episode.query_y).tolist() == [spec.query] * spec.ways
    assert torch.bincount(episode.support_y).tolist() == info["shots"]
    assert len(info["classes"]) == len(set(info["classes"])) == spec.ways
    assert info["index"] == index
    if isinstance(spec.shots, int):
        assert info["shots"] == [spec.shots] * spec.ways
        assert not info["capped"]
    elif isinstance(spec.shots, tuple):
        assert len(set(info["shots"])) == 1
        assert spec.shots[0] <= info["shots"][0] <= spec.shots[1]
    else:
        assert all(1 <= k <= 20 - spec.query for k in info["shots"])
    groups = {name.split("/")[0] for name in info["classes"]}
    if spec.within_group:
        assert groups == {info["group"]}
    else:
        assert info["group"] == ""
    if not isinstance(spec.groups, str):
        assert groups <= set(spec.groups)


@settings(max_examples=60, deadline=None)
@given(spec=specs, place=places)
def test_a_label_means_the_class_that_info_names_unless_mislabelled(spec, place):
    seed, index = place
    episode = EpisodeSampler(POOL, spec, seed).episode(index)
    for x, y, part in (
        (episode.support_x, episode.support_y, "support"),
        (episode.query_x, episode.query_y, "query"),
    ):
        named = [POOL.classes[c].name for c, _ in marks(x)]
        right = [episode.info["classes"][label] for label in y.tolist()] == named
        assert right == (not (episode.info["mislabelled"] and spec.noise_kind == part))


@settings(max_examples=60, deadline=None)
@given(spec=specs, place=places)
def test_noise_changes_labels_and_nothing_else(spec, place):
    seed, index = place
    noisy = EpisodeSampler(POOL, spec, seed).episode(index)
    clean_spec = EpisodeSpec(
        spec.ways, spec.shots, spec.query, spec.within_group, spec.groups, spec.zipf_exponent
    )
    clean = EpisodeSampler(POOL, clean_spec, seed).episode(index)
    assert torch.equal(noisy.support_x, clean.support_x)
    assert torch.equal(noisy.query_x, clean.query_x)
    assert sorted(noisy.query_y.tolist()) == clean.query_y.tolist()
    assert sorted(noisy.support_y.tolist()) == clean.support_y.tolist()


def test_any_shot_matches_its_definition():
    # Five seeds pooled, so that no single stretch of a stream decides.
    samplers = [EpisodeSampler(DEEP, EpisodeSpec(5, "any", 15), seed=seed) for seed in range(5)]
    shots = np.array([sampler.draw(index).shots for sampler in samplers for index in range(2000)])
    equal = (shots == shots[:, :1]).all(1)
    # Own draws of five classes coincide with probability 50^-4: not seen in 10,000 tasks.
    assert stats.binomtest(int(equal.sum()), len(shots), 0.5).pvalue > 1e-3
    common = np.bincount(shots[equal, 0], minlength=51)[1:]
    own = np.bincount(shots[~equal].ravel(), minlength=51)[1:]
    assert len(common) == len(own) == 50
    assert stats.chisquare(common).pvalue > 1e-3
    assert stats.chisquare(own).pvalue > 1e-3
    # Independent between classes: a table of the first two in ten bins each.
    pairs = (shots[~equal, :2] - 1) // 5
    table = np.zeros((10, 10))
    np.add.at(table, (pairs[:, 0], pairs[:, 1]), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_any_shot_is_capped_by_the_images_and_says_how_often():
    sampler = EpisodeSampler(POOL, EpisodeSpec(5, "any", 15), seed=3)
    draws = [sampler.draw(index) for index in range(2000)]
    assert max(max(draw.shots) for draw in draws) == 5
    summary = sampler.summarise(range(2000))
    assert summary.capped_episodes == sum(any(draw.capped) for draw in draws)
    assert summary.capped_classes == sum(sum(draw.capped) for draw in draws)
    # k of 1..50 exceeds the 5 images left in 45 of 50 cases, in both kinds of task.
    rate = summary.capped_classes / summary.classes
    assert abs(rate - 0.9) < 0.02
    assert "capped in" in summary.sentence()
    assert sampler.episode(draws[0].index).info["capped"] == any(draws[0].capped)


def test_a_range_of_shots_is_uniform_over_both_ends():
    sampler = EpisodeSampler(POOL, EpisodeSpec(5, (2, 5), 15), seed=1)
    counts = Counter(sampler.draw(index).shots[0] for index in range(2000))
    assert sorted(counts) == [2, 3, 4, 5]
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("uniform", [1, 1, 1]),
        ("size", [5, 8, 13]),
        ("zipf", [1 / 3, 1 / 2, 1]),
        ({"small": 3.0, "large": 1.0}, [3, 0, 1]),
    ],
)
def test_group_frequencies_are_met(groups, expected):
    sampler = EpisodeSampler(POOL, EpisodeSpec(5, 1, 5, groups=groups), seed=2)
    seen = Counter(sampler.draw(index).group for index in range(3000))
    expected = np.array(expected) / np.sum(expected) * 3000
    observed = np.array([seen[name] for name in POOL.groups])
    assert observed[expected == 0].sum() == 0
    kept = expected > 0
    assert stats.chisquare(observed[kept], expected[kept]).pvalue > 1e-3
    stated = [sampler.group_frequencies.get(name, 0.0) * 3000 for name in POOL.groups]
    assert np.allclose(stated, expected)


@pytest.mark.parametrize(("groups", "weights"), [("auto", [5, 8, 13]), ("zipf", [2, 3, 6])])
def test_across_groups_classes_come_by_the_frequency_of_their_group(groups, weights):
    spec = EpisodeSpec(1, 1, 5, within_group=False, groups=groups)
    sampler = EpisodeSampler(POOL, spec, seed=5)
    seen = Counter(POOL.classes[sampler.draw(i).classes[0]].group for i in range(3000))
    expected = np.array(weights) / np.sum(weights) * 3000
    assert stats.chisquare([seen[name] for name in POOL.groups], expected).pvalue > 1e-3


def test_every_class_and_image_is_drawn_alike():
    sampler = EpisodeSampler(POOL, EpisodeSpec(5, 1, 4, groups={"large": 1.0}), seed=9)
    classes: Counter = Counter()
    images: Counter = Counter()
    for index in range(2000):
        draw = sampler.draw(index)
        classes.update(draw.classes)
        images.update(int(rows[0]) for rows in draw.support)
    assert stats.chisquare(list(classes.values())).pvalue > 1e-3
    assert stats.chisquare([images[i] for i in range(20)]).pvalue > 1e-3


@pytest.mark.parametrize("kind", ["query", "support"])
def test_the_noise_rate_is_met_and_permuted_labels_are_at_chance(kind):
    spec = EpisodeSpec(5, 5, 15, label_noise=0.4, noise_kind=kind)
    sampler = EpisodeSampler(POOL, spec, seed=11)
    draws = [sampler.draw(index) for index in range(3000)]
    bad = [draw for draw in draws if draw.mislabelled]
    assert stats.binomtest(len(bad), 3000, 0.4).pvalue > 1e-3
    assert sampler.summarise(range(3000)).mislabelled == len(bad)
    labels = [draw.query_y if kind == "query" else draw.support_y for draw in bad]
    truth = np.repeat(np.arange(5), len(labels[0]) // 5)
    assert abs(np.mean([(y == truth).mean() for y in labels]) - 0.2) < 0.01


def test_the_order_of_calls_does_not_matter():
    sampler = EpisodeSampler(POOL, EpisodeSpec(label_noise=0.5), seed=4)
    forward = [sampler.episode(i) for i in range(8)]
    backward = [sampler.episode(i) for i in reversed(range(8))][::-1]
    for one, other in zip(forward, backward, strict=True):
        assert one.query_x.numpy().tobytes() == other.query_x.numpy().tobytes()
        assert one.info == other.info


def test_seeds_indices_and_streams_differ():
    first = EpisodeSampler(POOL, seed=0).draw(0)
    for other in (
        EpisodeSampler(POOL, seed=1).draw(0),
        EpisodeSampler(POOL, seed=0).draw(1),
        EpisodeSampler(POOL, seed=0, stream="evaluation").draw(0),
    ):
        assert [r.tolist() for r in other.query] != [r.tolist() for r in first.query]


def test_episodes_are_the_same_bytes_on_every_machine_and_release():
    spec = EpisodeSpec(5, "any", 3, groups="zipf", label_noise=0.5)
    digest = hashlib.sha256()
    for index in range(20):
        episode = EpisodeSampler(POOL, spec, seed=2024).episode(index)
        for tensor in (episode.support_x, episode.support_y, episode.query_x, episode.query_y):
            digest.update(tensor.numpy().tobytes())
    assert digest.hexdigest() == "6325989fa04752e3e2abb09c735dc9bf58a0a1f4f126bba227b5688d52045acc"


def test_too_few_images_names_class_found_and_needed():
    pool = marked_pool({"g": 5}, images=[20, 20, 7, 20, 9])
    with pytest.raises(DataError, match=r"'g/2'.*has 7 images.*need 16.*1 other class"):
        EpisodeSampler(pool, EpisodeSpec(3, 1, 15))
    kept = EpisodeSampler(pool.at_least(16), EpisodeSpec(3, 1, 15))
    assert kept.episode(0).ways == 3
    with pytest.raises(DataError, match=r"'g/2'.*has 7 images.*need 16"):
        EpisodeSampler(pool, EpisodeSpec(3, "any", 15))


def test_too_few_classes_names_group_found_and_needed():
    with pytest.raises(DataError, match=r"14 classes.*'large'.*has 13"):
        EpisodeSampler(POOL, EpisodeSpec(14, 1, 5))
    with pytest.raises(DataError, match=r"'small'.*has 5"):
        EpisodeSampler(POOL, EpisodeSpec(6, 1, 5, groups={"small": 1.0, "large": 1.0}))
    with pytest.raises(DataError, match=r"27 classes.*has 26"):
        EpisodeSampler(POOL, EpisodeSpec(27, 1, 5, within_group=False))
    # Groups that are too small are left out where the rest suffices.
    assert set(EpisodeSampler(POOL, EpisodeSpec(6, 1, 5)).group_frequencies) == {"middle", "large"}


def test_an_unknown_group_is_answered_with_the_nearest():
    with pytest.raises(DataError, match="Did you mean 'large'"):
        EpisodeSampler(POOL, EpisodeSpec(groups={"lage": 1.0}))


def test_a_negative_index_is_refused():
    with pytest.raises(DataError, match="negative"):
        EpisodeSampler(POOL).draw(-1)


def test_a_task_across_groups_records_the_group_of_each_class():
    group_of = {entry.name: entry.group for entry in POOL.classes}
    info = EpisodeSampler(POOL, EpisodeSpec(5, 1, 1, within_group=False)).episode(0).info
    assert info["class_groups"] == [group_of[name] for name in info["classes"]]
    assert "class_groups" not in EpisodeSampler(POOL, EpisodeSpec(5, 1, 1)).episode(0).info
    flat = marked_pool({"all": 6})
    info = EpisodeSampler(flat, EpisodeSpec(2, 1, 1, within_group=False)).episode(0).info
    assert info["class_groups"] == ["", ""]
