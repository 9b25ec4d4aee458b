"""Paired differences against scipy; a difference comes back from its file as it went."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from towpath.metrics import ACCURACY, ROC_AUC, Metric
from towpath.runs.differences import PairedDifference, SeedDifferences, paired_difference
from towpath.runs.plain import plain_json
from towpath.runs.task_values import TaskValues, half_width


def of(metric: Metric, *values: float) -> TaskValues:
    return TaskValues.of(metric, np.array(values), np.ones(len(values)))


def score(*accuracies: float) -> TaskValues:
    return of(ACCURACY, *accuracies)


@pytest.mark.parametrize("tasks", [2, 3, 50])
def test_a_paired_difference_is_the_paired_t_test(tasks):
    generator = np.random.default_rng(tasks)
    a = generator.uniform(size=tasks)
    b = a - 0.05 + 0.1 * generator.normal(size=tasks)
    found = paired_difference(a, b)
    reference = stats.ttest_rel(a, b)
    interval = reference.confidence_interval(0.95)
    assert found.mean == pytest.approx(a.mean() - b.mean(), rel=1e-9)
    assert found.interval == pytest.approx((interval.high - interval.low) / 2, rel=1e-9)
    assert found.p_value == pytest.approx(reference.pvalue, rel=1e-9)
    assert found.excludes_zero == (reference.pvalue < 0.05)


def test_a_paired_difference_is_antisymmetric_and_narrower_than_the_means():
    generator = np.random.default_rng(0)
    a = generator.uniform(size=100)
    b = a + 0.02 * generator.normal(size=100)
    forward, backward = paired_difference(a, b), paired_difference(b, a)
    assert backward.mean == -forward.mean
    assert backward.interval == forward.interval
    assert backward.p_value == forward.p_value
    assert forward.interval < half_width(a) / 5


def test_identical_runs_do_not_differ():
    a = np.random.default_rng(0).uniform(size=20)
    assert paired_difference(a, a) == PairedDifference(0.0, 0.0, 1.0)
    assert not paired_difference(a, a).excludes_zero


def test_a_constant_difference_is_certain_without_a_warning():
    a = np.random.default_rng(0).uniform(size=20)
    assert paired_difference(np.ones(5), np.zeros(5)) == PairedDifference(1.0, 0.0, 0.0)
    shifted = paired_difference(a + 0.1, a)  # equal but for rounding, where scipy warns
    assert shifted.mean == pytest.approx(0.1)
    assert shifted.p_value < 1e-12
    assert shifted.excludes_zero


def test_one_task_is_no_evidence():
    alone = paired_difference(np.array([0.9]), np.array([0.1]))
    assert alone.interval == math.inf
    assert alone.p_value == 1.0
    assert not alone.excludes_zero


def test_runs_of_different_lengths_are_not_compared():
    with pytest.raises(ValueError, match="Found 3 and 2 tasks; expected the same tasks"):
        paired_difference(np.zeros(3), np.zeros(2))


def test_differences_are_pooled_over_the_seeds_that_both_have():
    generator = np.random.default_rng(0)
    one, other = (
        {s: score(*generator.uniform(size=9)) for s in seeds} for seeds in ((0, 1, 2), (2, 0))
    )
    found = SeedDifferences.between(one, other)
    assert found is not None
    assert list(found.seeds) == [0, 2]
    rows = [one[s].values - other[s].values for s in (0, 2)]
    reference = stats.ttest_1samp((rows[0] + rows[1]) / 2, 0.0)
    assert found.pooled.p_value == pytest.approx(reference.pvalue, rel=1e-9)
    assert found.seeds[2].mean == pytest.approx(rows[1].mean(), rel=1e-12)
    assert SeedDifferences.between(one, {7: one[0]}) is None


def test_tasks_on_which_the_metric_is_undefined_are_left_out_of_a_difference():
    one = {0: of(ROC_AUC, 0.9, math.nan, 0.5, 0.7), 1: of(ROC_AUC, 0.8, math.nan, 0.6, 0.9)}
    other = {0: of(ROC_AUC, 0.5, math.nan, 0.5, 0.6), 1: of(ROC_AUC, 0.7, math.nan, 0.4, 0.8)}
    found = SeedDifferences.between(one, other)
    assert found is not None
    reference = stats.ttest_1samp([0.25, 0.1, 0.1], 0.0)
    assert found.pooled.mean == pytest.approx(0.15)
    assert found.pooled.p_value == pytest.approx(reference.pvalue, rel=1e-9)
    assert found.seeds[1].mean == pytest.approx(0.4 / 3)
    nowhere = {0: of(ROC_AUC, math.nan, math.nan)}
    assert SeedDifferences.between(nowhere, nowhere) is None


def through_a_file(content):
    return json.loads(json.dumps(plain_json(content)))


def test_differences_come_back_from_a_file_as_they_went():
    both = SeedDifferences.between(
        {0: score(0.1, 1 / 3, 0.7), 3: score(0.2)}, {0: score(0.2, 0.2, 0.9)}
    )
    assert both is not None
    assert SeedDifferences.from_json(through_a_file(both.as_json())) == both
    alone = paired_difference(np.array([0.9]), np.array([0.1]))
    assert PairedDifference.from_json(through_a_file(alone.as_json())) == alone
