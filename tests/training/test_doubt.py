"""Which trusted tasks are doubted, by the evidence of all of them together."""

import math

import numpy as np
import pytest

from towpath.training.doubt import doubted

FRESH = [6.0] * 10


def simulated(right: float, spread: float, wrong: float, seed: int = 0, runs: int = 200):
    """The shares of wrong and of right tasks that are doubted, of 20 tasks each time."""
    generator = np.random.default_rng(seed)
    hits, falsely = [], []
    for _ in range(runs):
        is_wrong = generator.random(20) < wrong
        z = np.where(is_wrong, generator.normal(size=20), generator.normal(right, spread, 20))
        flags = np.isin(np.arange(20), doubted(z.tolist(), [right] * 10))
        hits += flags[is_wrong].tolist()
        falsely += flags[~is_wrong].tolist()
    return np.mean(hits) if hits else math.nan, np.mean(falsely)


@pytest.mark.parametrize("wrong", [0.2, 0.4, 0.6])
def test_wrong_tasks_are_found_and_right_ones_are_not_where_the_two_lie_apart(wrong):
    hit, falsely = simulated(6.0, 1.3, wrong)
    assert hit > 0.85
    assert falsely < 0.01


@pytest.mark.parametrize(("right", "spread"), [(1.0, 1.0), (2.5, 1.2), (4.0, 1.3), (7.0, 2.0)])
def test_hard_tasks_are_not_doubted_where_all_labels_are_right(right, spread):
    assert simulated(right, spread, 0.0)[1] < 0.005


@pytest.mark.parametrize(("hard", "bound"), [(1.5, 0.3), (2.0, 0.1), (2.5, 0.03)])
def test_a_group_of_hard_tasks_is_seldom_doubted_beside_easy_ones(hard, bound):
    generator = np.random.default_rng(1)
    doubts = 0
    for _ in range(200):
        z = [*generator.normal(8.0, 1.5, 15), *generator.normal(hard, 1.0, 5)]
        doubts += len(doubted(z, FRESH))
    assert doubts / 1000 < bound  # of the hard ones; one by one they were 0.61, 0.34 and 0.09


def test_nothing_is_doubted_while_right_and_wrong_cannot_be_told_apart():
    hit, falsely = simulated(2.0, 1.0, 0.4)
    assert hit < 0.05
    assert falsely < 0.01


def test_all_tasks_are_doubted_if_they_mean_nothing_to_a_network_that_has_learned():
    nothing = np.random.default_rng(3).normal(size=20)
    nothing -= nothing.mean()
    assert doubted(nothing.tolist(), FRESH) == tuple(range(20))
    assert doubted(nothing.tolist(), [1.0] * 10) == ()  # nothing is learned yet
    half_wrong = [0.0] * 5 + [6.0] * 5  # training tasks may be wrong, too
    assert doubted(nothing.tolist(), half_wrong) == tuple(range(20))
    assert doubted((nothing + 1.0).tolist(), FRESH) == ()  # hard, not meaningless


def test_tasks_without_evidence_are_not_doubted_and_a_few_tasks_say_nothing():
    z = [6.0, 6.5, math.nan, 7.0, 5.5, 0.1, 6.2, 6.8]
    assert doubted(z, FRESH) == (5,)
    assert doubted([6.0, 6.0, 0.0], FRESH) == ()
    assert doubted([math.nan] * 8, FRESH) == ()
    assert doubted([], []) == ()
