"""How soon weighters reach the baseline's score, against the study's files."""

import math

import numpy as np
import pytest

from towpath.runs.reached import curve, reached
from towpath.runs.smoothing import moving_average


def test_curves_are_smoothed_where_there_is_enough_to_smooth(study):
    run = study.runs["tow"][0]
    raw = [(float(check.step), check.score) for check in run.checks]
    assert len(raw) == 30
    assert curve(run) == moving_average(raw)


def test_a_weighter_has_reached_the_goal_at_its_first_validation_there(study):
    goals, found = reached(study)
    first = []
    for run in study.runs["tow"]:
        level = [step for step, value in curve(run) if value >= goals[run.seed]]
        first += level[:1]
    assert found["tow"].reached == len(first)
    expected = np.mean(first) if first else math.nan
    assert found["tow"].steps == pytest.approx(expected, nan_ok=True)
    assert goals == {run.seed: curve(run)[-1][1] for run in study.runs["uniform"]}
