"""How arms stand against the baseline, and which of them may lead."""

import math

import pytest

from towpath.weighters.race.standing import Standing, best_half, chosen, standings

SHARE = 0.05


def test_a_dropped_arm_is_compared_with_the_looks_of_its_time():
    scores = {"uniform": [[0.5, 0.5], [0.7, 0.7], [0.9, 0.9]], "trim": [[0.6, 0.6], [0.8, 0.7]]}
    found = standings(scores, "uniform")["trim"]
    assert found.gain == pytest.approx(0.05)
    assert found.error == pytest.approx(0.05)


def test_one_judge_is_no_evidence_and_a_broken_arm_is_never_chosen():
    one = standings({"uniform": [[0.1]], "mixture": [[0.9]]}, "uniform")
    assert chosen(one, SHARE) is None
    broken = standings({"uniform": [[0.1] * 5], "mixture": [[-math.inf] * 5]}, "uniform")
    assert chosen(broken, SHARE) is None


def test_an_arm_that_holds_wins_over_a_baseline_that_has_come_to_nothing():
    scores = {"uniform": [[-math.inf, 0.5, 0.5]], "trim": [[0.8, 0.81, 0.82]]}
    assert chosen(standings(scores, "uniform"), SHARE) == "trim"
    both = {**scores, "trim": [[0.8, -math.inf, 0.8]]}
    assert chosen(standings(both, "uniform"), SHARE) is None


def test_arms_that_equal_the_baseline_are_not_chosen_and_equal_gains_without_scatter_are():
    equal = standings({"uniform": [[0.5] * 5], "mixture": [[0.5] * 5]}, "uniform")
    assert equal["mixture"].t == 0
    assert chosen(equal, SHARE) is None
    sure = standings({"uniform": [[0.5] * 5], "mixture": [[0.75] * 5]}, "uniform")
    assert chosen(sure, SHARE) == "mixture"


@pytest.mark.parametrize(("judges", "sure"), [(2, False), (4, False), (5, True), (7, True)])
def test_gains_without_scatter_are_counted_by_their_judges(judges, sure):
    base = [0.1 * (1 + j) for j in range(judges)]
    scores = {"uniform": [base], "mixture": [[value + 0.04 for value in base]]}
    found = standings(scores, "uniform")
    assert found["mixture"].error == 0, "and not what rounding makes of it"
    assert found["mixture"].chance() == 0.5**judges
    assert chosen(found, SHARE) == ("mixture" if sure else None)
    worse = standings({"uniform": scores["mixture"], "mixture": [base]}, "uniform")
    assert worse["mixture"].chance() == 1.0


def test_a_gain_that_is_rounding_is_none():
    base = [0.52, 0.48, 0.3]
    above = [value + 1e-9 for value in base]
    found = standings({"uniform": [base], "trim": [above]}, "uniform")["trim"]
    assert (found.gain, found.error, found.chance()) == (0.0, 0.0, 0.5)
    swapped = standings({"uniform": [[0.1, 0.3]], "trim": [[0.3, 0.1 + 1e-17]]}, "uniform")["trim"]
    assert swapped.gain == 0
    assert chosen({"trim": swapped}, SHARE, "trim") is None
    small = standings({"uniform": [[-2e-9, -1e-9]], "trim": [[-1e-9, -1e-10]]}, "uniform")["trim"]
    assert small.gain == pytest.approx(0.95e-9), "scores may all be small"


def test_half_of_the_arms_stays_at_half_time():
    found = {name: Standing(gain, 0.1, 7) for name, gain in zip("abcd", (1, 4, 2, 3), strict=True)}
    assert best_half(found) == ["b", "d"]
    assert best_half({"a": found["a"]}) == ["a"]
    tied = {**found, "c": Standing(3 - 1e-12, 0.1, 7)}
    assert best_half(tied) == ["b", "d"]
    assert best_half(tied, 1e-9) == ["b", "c"], "the earlier one of two that are equal"
    assert best_half(dict.fromkeys("abcd", found["a"]), 1e-9) == ["a", "b"]
    broken = {name: Standing(-math.inf, 0.0, 7) for name in "abcd"}
    assert best_half(broken, 1e-9) == ["a", "b"]


def test_a_leader_stays_while_it_is_ahead_and_another_arm_has_to_be_clear():
    unclear = {"mixture": Standing(0.01, 0.02, 7), "opus": Standing(0.02, 0.02, 7)}
    assert chosen(unclear, SHARE) is None
    assert chosen(unclear, SHARE, "mixture") == "mixture"
    assert chosen({"mixture": Standing(-0.001, 0.02, 7)}, SHARE, "mixture") is None
    clear = {**unclear, "opus": Standing(0.02, 0.005, 7)}
    assert chosen(clear, SHARE, "mixture") == "opus"
    assert chosen({**clear, "mixture": Standing(0.03, 0.02, 7)}, SHARE, "mixture") == "mixture"


def test_judges_that_say_nothing_choose_nobody():
    nothing = standings({"uniform": [[], []], "mixture": [[], []]}, "uniform")
    assert nothing["mixture"].judges == 0
    assert chosen(nothing, SHARE) is None
