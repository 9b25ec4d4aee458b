import numpy as np
import pytest
from scipy import stats

from tests.data.makers import marked_pool
from towpath.data import EpisodeSampler, EpisodeSpec
from towpath.data.noise import Flipped, Permuted, noisy_labels
from towpath.data.randomness import Draws

POOL = marked_pool({"a": 8, "b": 13})
SUPPORT, QUERY = np.repeat(np.arange(5), 2), np.repeat(np.arange(5), 6)


def draws(index: int = 0) -> Draws:
    return Draws("test/noise", 3, index)


def test_permuted_labels_change_in_one_part_and_their_share_is_counted_over_both():
    for part, changed, kept in (("query", 1, 0), ("support", 0, 1)):
        noisy = Permuted(part).apply(SUPPORT, QUERY, 5, draws())
        found = (noisy.support_y, noisy.query_y)
        right = (SUPPORT, QUERY)
        assert np.array_equal(found[kept], right[kept])
        assert sorted(found[changed]) == sorted(right[changed])
        wrong = int((found[changed] != right[changed]).sum())
        assert wrong > 0
        assert noisy.wrong_share == wrong / 40


def test_permutation_leaves_the_targets_of_a_regression_what_they_are():
    support, query = np.array([0.5, 1.5, 2.5]), np.array([3.5, 4.5])
    noisy = Permuted("support").apply(support, query, 0, draws())
    assert sorted(noisy.support_y) == support.tolist()
    assert noisy.support_y.dtype == np.float64
    assert not Permuted.needs_classes
    assert Flipped.needs_classes


@pytest.mark.parametrize(("part", "flipped"), [("support", 0), ("query", 1)])
def test_flips_stay_in_the_part_that_is_named(part, flipped):
    both = Flipped(0.8, "both").apply(SUPPORT, QUERY, 5, draws())
    one = Flipped(0.8, part).apply(SUPPORT, QUERY, 5, draws())
    found, together = (one.support_y, one.query_y), (both.support_y, both.query_y)
    assert np.array_equal(found[1 - flipped], (SUPPORT, QUERY)[1 - flipped])
    assert np.array_equal(found[flipped], together[flipped])  # the same flips in either case


def test_flips_have_their_rate_and_go_to_every_other_class_alike():
    noise = Flipped(0.8)
    counts = np.zeros((5, 5))
    for index in range(400):
        noisy = noise.apply(SUPPORT, QUERY, 5, draws(index))
        found = np.concatenate([noisy.support_y, noisy.query_y])
        right = np.concatenate([SUPPORT, QUERY])
        np.add.at(counts, (right, found), 1)
        assert noisy.wrong_share == (found != right).mean()
    kept = np.trace(counts)
    assert stats.binomtest(int(kept), int(counts.sum()), 0.2).pvalue > 1e-3
    others = counts[~np.eye(5, dtype=bool)]
    assert stats.chisquare(others).pvalue > 1e-3


def test_no_flip_makes_no_task_wrong_and_sure_flips_make_every_label_wrong():
    assert Flipped(0.0).apply(SUPPORT, QUERY, 5, draws()).wrong_share == 0.0
    sure = Flipped(1.0).apply(SUPPORT, QUERY, 2, draws())
    assert sure.wrong_share > 0
    two = np.array([0, 1, 1])
    assert np.array_equal(Flipped(1.0).apply(two, two, 2, draws()).query_y, 1 - two)


@pytest.mark.parametrize(("ways", "shots"), [(2, 1), (3, 2), (5, 1), (5, 2), (20, 1)])
def test_flips_leave_every_class_of_the_support_set_a_sample(ways, shots):
    support, query = np.repeat(np.arange(ways), shots), np.repeat(np.arange(ways), 3)
    wrong = 0.0
    for index in range(100):
        noisy = Flipped(0.8).apply(support, query, ways, draws(index))
        assert set(noisy.support_y) == set(range(ways))
        both = np.concatenate([noisy.support_y != support, noisy.query_y != query])
        assert noisy.wrong_share == both.mean()
        wrong += both[: len(support)].mean() / 100
        again = Flipped(0.8).apply(support, query, ways, draws(index))
        assert np.array_equal(again.support_y, noisy.support_y)
    # A label flips as often as before, but for one of two classes of one sample, which needs both.
    assert wrong == pytest.approx(0.64 if (ways, shots) == (2, 1) else 0.8, abs=0.1)


def test_a_flip_that_is_alone_in_a_set_of_one_sample_a_class_stays_right():
    support, query = np.arange(5), np.arange(5)
    for index in range(200):
        found = Flipped(0.1, "support").apply(support, query, 5, draws(index)).support_y
        assert sorted(found) == [0, 1, 2, 3, 4]  # a permutation: nothing else is possible


def test_flips_of_the_query_do_not_depend_on_those_of_the_support_that_are_drawn_again():
    support = np.arange(5)  # is nearly always drawn again
    for index in range(20):
        noisy = Flipped(0.8).apply(support, QUERY, 5, draws(index))
        stream = draws(index)
        stream.words(2 * len(support))
        flips = np.array([stream.uniform() < 0.8 for _ in QUERY])
        away = np.array([stream.integer(1, 4) for _ in QUERY])
        assert np.array_equal(noisy.query_y, np.where(flips, (QUERY + away) % 5, QUERY))


def test_the_share_of_noisy_tasks_is_met():
    noisy = [
        noisy_labels(Permuted("query"), 0.3, SUPPORT, QUERY, 5, draws(index)).wrong_share > 0
        for index in range(2000)
    ]
    assert stats.binomtest(sum(noisy), 2000, 0.3).pvalue > 1e-3


def test_a_task_of_the_sampler_records_the_share_that_is_wrong():
    spec = EpisodeSpec(5, 1, 3, label_noise=0.6, noise_kind="flip", flip_probability=0.8)
    sampler = EpisodeSampler(POOL, spec, seed=1)
    right = np.concatenate([np.arange(5), np.repeat(np.arange(5), 3)])
    shares = []
    for index in range(300):
        episode = sampler.episode(index)
        found = np.concatenate([episode.support_y.numpy(), episode.query_y.numpy()])
        assert episode.info["wrong"] == pytest.approx((found != right).mean())
        assert episode.info["mislabelled"] == (episode.info["wrong"] > 0)
        assert episode.info["noise"] == "flip"
        shares.append(episode.info["wrong"])
    noisy = sum(share > 0 for share in shares)
    assert stats.binomtest(noisy, 300, 0.6).pvalue > 1e-3
    assert sum(shares) / noisy == pytest.approx(0.8, abs=0.03)


def test_a_clean_task_says_that_nothing_is_wrong_and_names_no_noise():
    info = EpisodeSampler(POOL, EpisodeSpec(5, 1, 3)).episode(0).info
    assert info["wrong"] == 0.0
    assert info["mislabelled"] is False
    assert "noise" not in info
