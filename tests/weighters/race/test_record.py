"""The record of a race in words: what was decided, and by what evidence."""

import math

import pytest

from towpath.weighters.race.judges import LOSS
from towpath.weighters.race.record import RaceRecord
from towpath.weighters.race.standing import Standing

FOUND = {"mixture": Standing(0.056, 0.0233, 7), "opus": Standing(0.01, 0.02, 7)}


def test_a_change_of_the_leader_is_told_in_one_line():
    record = RaceRecord("mixture", "uniform", FOUND, share=0.1, ended=True)
    assert record.decision() == "mixture leads"
    assert record.reason() == "+5.6 points on 7 judges, t = 2.4"
    assert record.best == "mixture"


def test_where_the_baseline_stays_the_best_arm_says_why():
    record = RaceRecord("uniform", standings=FOUND, ended=True)
    assert record.decision() == "uniform still leads"
    assert record.reason() == "best mixture: +5.6 points on 7 judges, t = 2.4"


def test_only_accuracies_are_points():
    record = RaceRecord("mixture", "uniform", FOUND, LOSS, ended=True)
    assert record.reason() == "+0.0560 of loss on 7 judges, t = 2.4"
    assert "point" not in record.reason()
    ranked = RaceRecord("mixture", "uniform", FOUND, "roc_auc", ended=True)
    assert ranked.reason() == "+0.0560 of ROC AUC on 7 judges, t = 2.4"


def test_arms_that_leave_are_named():
    record = RaceRecord("uniform", standings=FOUND, dropped=("opus",), broke=("mgda",))
    assert record.decides
    assert record.decision() == "mgda broke; opus dropped at half-time"
    assert record.reason() == "opus: +1.0 points on 7 judges, t = 0.5"
    assert RaceRecord("uniform", broke=("mgda",)).reason() == "nothing was judged"


def test_a_window_without_a_decision_decides_nothing():
    record = RaceRecord("uniform", standings=FOUND)
    assert not record.decides
    assert record.decision() == ""


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (Standing(-math.inf, 0.0, 3), "not finite on the judges"),
        (
            Standing(math.inf, 0.0, 3),
            "finite on the judges where what it is compared with is not",
        ),
        (Standing(0.5, math.inf, 1), "+50.0 points on 1 judge, t = 0.0"),
        (Standing(0.04, 0.0, 2), "+4.0 points on each of 2 judges"),
    ],
)
def test_standings_that_prove_nothing_are_worded(standing, words):
    assert RaceRecord("a", standings={"a": standing}).evidence("a") == words
