"""Who is chosen, and how often by mistake: simulated heats whose truth is known."""

import math

import numpy as np
import pytest

from towpath.weighters.race.standing import Standing, best_half, chosen, standings

LEVEL = 0.02
"""the default of `Race`"""
ARMS = ("uniform", "mixture", "exploitation", "opus", "tow-targets")


def heat(
    g: np.random.Generator,
    gains: dict[str, float],
    *,
    looks: int = 5,
    judges: int = 7,
    scatter: float = 0.03,
    branch: float = 0.0,
    grows: bool = False,
) -> dict[str, list[list[float]]]:
    """Scores of a heat: hard and easy judges, noise that lasts from look to look, and the gains.

    `scatter` is the deviation of a judge's own difference, `branch` that of a whole training, which
    all judges share; both are autocorrelated over the looks (0.7).
    """
    level = g.uniform(0.3, 0.9, judges)
    drift = np.cumsum(g.normal(0, 0.01, looks))
    found = {}
    for name in ARMS:
        own, common = g.normal(0, scatter, judges), g.normal(0, branch)
        rows = []
        for look in range(looks):
            share = (look + 1) / looks if grows else 1.0
            rows.append((level + drift[look] + own + common + share * gains.get(name, 0)).tolist())
            own = 0.7 * own + math.sqrt(1 - 0.49) * g.normal(0, scatter, judges)
            common = 0.7 * common + math.sqrt(1 - 0.49) * g.normal(0, branch)
        found[name] = rows
    return found


def rate(count: int, wanted, **setting) -> float:
    g = np.random.default_rng(5)
    return float(np.mean([wanted(choice(heat(g, **setting))) for _ in range(count)]))


@pytest.mark.parametrize("judges", [3, 7, 20])
def test_where_no_arm_is_better_the_level_is_kept(judges):
    # 1,000 heats: three standard errors of a rate of 0.02 are 0.013
    assert rate(1000, lambda name: name is not None, gains={}, judges=judges) <= 0.033


def test_where_all_arms_are_worse_they_are_hardly_ever_chosen():
    worse = dict.fromkeys(ARMS[1:], -0.03)
    assert rate(1000, lambda name: name is not None, gains=worse) <= 0.005


def test_noise_that_all_judges_share_raises_the_rate_as_the_docs_say():
    # a whole training that is off by half of a judge's own scatter: the docs say 10 per cent
    found = rate(1000, lambda name: name is not None, gains={}, branch=0.015)
    assert 0.02 < found <= 0.13


def test_a_large_gain_is_chosen_before_a_small_one_with_less_scatter():
    gains = {"mixture": 0.1, "tow-targets": 0.05, "exploitation": 0.02, "opus": 0.03}
    assert rate(500, lambda name: name == "mixture", gains=gains) >= 0.9


def test_a_gain_that_builds_up_counts_by_the_late_looks():
    assert rate(500, lambda name: name == "mixture", gains={"mixture": 0.1}, grows=True) >= 0.9


def test_a_change_of_what_is_good_is_found_by_the_next_heat():
    g = np.random.default_rng(0)
    first, second = {"mixture": 0.1}, {"mixture": -0.1, "opus": 0.1}
    for _ in range(50):
        assert choice(heat(g, first)) == "mixture"
        assert choice(heat(g, second)) == "opus"


def test_a_dropped_arm_is_compared_with_the_looks_of_its_time():
    scores = {"uniform": [[0.5, 0.5], [0.7, 0.7], [0.9, 0.9]], "trim": [[0.6, 0.6], [0.8, 0.7]]}
    found = standings(scores, "uniform")["trim"]
    assert found.gain == pytest.approx(0.05)
    assert found.error == pytest.approx(0.05)


def test_one_judge_is_no_evidence_and_a_broken_arm_is_never_chosen():
    one = standings({"uniform": [[0.1]], "mixture": [[0.9]]}, "uniform")
    assert chosen(one, LEVEL) is None
    broken = standings({"uniform": [[0.1] * 5], "mixture": [[-math.inf] * 5]}, "uniform")
    assert chosen(broken, LEVEL) is None


def test_arms_that_equal_the_baseline_are_not_chosen_and_equal_gains_without_scatter_are():
    equal = standings({"uniform": [[0.5] * 5], "mixture": [[0.5] * 5]}, "uniform")
    assert equal["mixture"].t == 0
    assert chosen(equal, LEVEL) is None
    sure = standings({"uniform": [[0.5] * 5], "mixture": [[0.75] * 5]}, "uniform")
    assert chosen(sure, LEVEL) == "mixture"


def test_half_of_the_arms_stays_at_half_time():
    found = {name: Standing(gain, 0.1, 7) for name, gain in zip("abcd", (1, 4, 2, 3), strict=True)}
    assert best_half(found) == ["b", "d"]
    assert best_half({"a": found["a"]}) == ["a"]
