"""How often a race errs, in simulated races whose truth is known: at most what the docs state.

The figures beside the assertions are those of docs/method.md, section 10, of 2,000 races each
(`python -m benchmarks race_errors`). Of the races here the standard error of a rate of 0.2
is 0.016, of 0.03 0.007.
"""

import pytest
from benchmarks.race_errors import (
    ONE,
    SHARED,
    TURNS_AFTER_HALF_TIME,
    all_arms,
    any_arm,
    rates,
    that_arm,
    turns_after_the_first_heat,
)

from towpath.weighters.race.race import Race

RACES = 600
LEVEL = Race().level


@pytest.mark.parametrize("judges", [3, 7, 20])
def test_arms_that_equal_the_baseline_are_chosen_at_most_as_often_as_the_level_says(judges):
    first, second, third = rates(any_arm, {}, RACES, judges=judges, heats=3)
    assert 0.07 < first < 0.17 < LEVEL
    # an arm that leads by chance is as often behind as ahead later on, and then loses the lead
    assert max(second, third) < first + 0.02


def test_noise_that_all_judges_share_is_beyond_the_level_and_the_docs_say_how_far():
    (equal,) = rates(any_arm, {}, RACES, noise=SHARED)
    assert LEVEL < equal < 0.38


def test_an_arm_that_is_worse_by_a_point_is_rarely_chosen():
    """The harmful error: every arm is worse by one point, so any choice is wrong."""
    own = rates(any_arm, all_arms(-0.01), RACES, heats=3)
    assert max(own) < 0.06
    shared = rates(any_arm, all_arms(-0.01), RACES, heats=3, noise=SHARED)
    assert max(shared) < 0.24
    one = rates(that_arm, {ONE: -0.01}, RACES, heats=3)
    assert max(one) < 0.015


@pytest.mark.parametrize(("judges", "most"), [(3, 0.02), (7, 0.005), (20, 0.003)])
def test_arms_that_are_worse_by_three_points_are_hardly_ever_chosen(judges, most):
    (rate,) = rates(any_arm, all_arms(-0.03), RACES, judges=judges)
    assert rate <= most


def test_a_better_arm_is_found_and_kept():
    first, second, third = rates(that_arm, {ONE: 0.05}, RACES, heats=3)
    assert first > 0.83
    assert second > 0.97
    assert third > 0.98


def test_a_large_gain_is_chosen_before_small_ones():
    gains = {ONE: 0.1, "uniform": 0.02, "evidence-easy": 0.05}
    (rate,) = rates(that_arm, gains, 300)
    assert rate >= 0.98


def test_a_gain_that_builds_up_counts_by_the_last_look():
    (rate,) = rates(that_arm, {ONE: (0.05, 0.1)}, 300)
    assert rate >= 0.98


def test_an_arm_that_turns_bad_within_a_heat_is_not_chosen():
    (rate,) = rates(that_arm, {ONE: TURNS_AFTER_HALF_TIME}, 300)
    assert rate <= 0.005


@pytest.mark.parametrize(("gain", "most"), [(-0.01, 0.3), (-0.03, 0.03)])
def test_a_leader_that_turns_bad_loses_the_lead_in_the_next_heat(gain, most):
    turned = {ONE: turns_after_the_first_heat(gain)}
    first, second, third = rates(that_arm, turned, RACES, heats=3)
    assert first > 0.83, "it was better"
    assert second < most
    assert third < most / 2
