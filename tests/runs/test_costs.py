"""The cost of weighters against the study's files."""

import pytest

from towpath.runs.costs import costs


def test_costs_are_over_the_baselines_of_the_same_seed(study):
    found = costs(study)
    assert found["tow"].overhead == pytest.approx(1.0)
    assert found["tow"].evaluations == 90.0
    assert found["tow"].per_step == pytest.approx(0.1)
    assert found["tow"].finished
