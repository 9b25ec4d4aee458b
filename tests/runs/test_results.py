"""The numbers of a study against its files."""

import math

import numpy as np
import pytest

from tests.reports import synthetic
from towpath.runs.differences import SeedDifferences
from towpath.runs.read_studies import read_studies
from towpath.runs.results import costs, curve, reached, results
from towpath.runs.results import test_sets as sets_of
from towpath.runs.smoothing import moving_average
from towpath.runs.task_values import half_width


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "c"
    synthetic.write_comparison(path, 30, weighters=("uniform", "tow"), seeds=(0, 1), validate=1)
    (found,) = read_studies([path])
    return found


def test_results_are_means_over_seeds_and_differences_those_of_the_tasks(study):
    assert sets_of(study) == ["omniglot"]
    found = results(study, "omniglot")
    scores = {
        label: {run.seed: run.scores["omniglot"].main for run in study.runs[label]}
        for label in found
    }
    for label, result in found.items():
        own = [score.values for score in scores[label].values()]
        assert result.mean == pytest.approx(np.mean(own))
        assert result.interval == half_width(np.mean(own, axis=0))
        assert result.tasks == len(own[0])
    assert found["uniform"].difference is None
    expected = SeedDifferences.between(scores["tow"], scores["uniform"])
    assert expected is not None
    assert found["tow"].difference == expected.pooled
    assert found["tow"].paired_seeds == 2


def test_costs_are_over_the_baselines_of_the_same_seed(study):
    found = costs(study)
    assert found["tow"].overhead == pytest.approx(1.0)
    assert found["tow"].evaluations == 90.0
    assert found["tow"].per_step == pytest.approx(0.1)
    assert found["tow"].finished


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
