"""The numbers of a study against its files."""

import numpy as np
import pytest

from towpath.runs.differences import SeedDifferences
from towpath.runs.results import results
from towpath.runs.results import test_sets as sets_of
from towpath.runs.task_values import half_width


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
