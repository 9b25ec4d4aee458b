"""The mean, interval and worst tenth of a metric against scipy and closed forms."""

import math

import numpy as np
import pytest
from scipy import stats

from towpath.metrics import ACCURACY, LOSS, ROC_AUC, Metric
from towpath.runs.task_values import TaskValues, defined_in_all, half_width


def of(metric: Metric, *values: float, losses=None) -> TaskValues:
    array = np.array(values)
    return TaskValues.of(metric, array, np.ones(len(array)) if losses is None else losses)


def score(*accuracies: float) -> TaskValues:
    return of(ACCURACY, *accuracies)


def test_the_interval_is_students_of_the_mean():
    values = np.random.default_rng(0).uniform(size=37)
    found = score(*values)
    low, high = stats.t.interval(0.95, 36, loc=values.mean(), scale=stats.sem(values))
    assert found.mean == pytest.approx((low + high) / 2, rel=1e-12)
    assert found.interval == pytest.approx((high - low) / 2, rel=1e-12)


def test_the_interval_of_two_values_has_a_closed_form():
    # Student's t with one degree of freedom is Cauchy: its quantile is tan(0.475 pi)
    assert half_width([0.0, 1.0]) == pytest.approx(math.tan(0.475 * math.pi) / 2, rel=1e-12)


def test_an_interval_covers_the_mean_in_95_of_100_cases():
    generator = np.random.default_rng(0)
    samples = generator.normal(0.6, 0.1, (4000, 8))
    covered = np.mean([abs(row.mean() - 0.6) <= half_width(row) for row in samples])
    assert covered == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 4000))


def test_one_task_has_no_finite_interval():
    alone = score(0.8)
    assert alone.mean == 0.8
    assert alone.interval == math.inf
    assert alone.worst_tenth == 0.8


def test_equal_tasks_have_an_interval_of_zero():
    assert score(0.5, 0.5, 0.5).interval == 0.0


@pytest.mark.parametrize(("tasks", "counted"), [(1, 1), (9, 1), (19, 1), (20, 2), (105, 10)])
def test_the_worst_tenth_is_low_accuracy_or_high_loss(tasks, counted):
    values = np.random.default_rng(0).permutation(np.arange(tasks)) / tasks
    lowest = sum(range(counted)) / tasks / counted
    assert of(ACCURACY, *values).worst_tenth == pytest.approx(lowest)
    highest = sum(range(tasks - counted, tasks)) / tasks / counted
    assert of(LOSS, *values).worst_tenth == pytest.approx(highest)


def test_a_task_on_which_the_metric_is_undefined_is_left_out_and_counted():
    found = of(ROC_AUC, 0.25, math.nan, 0.75, math.nan, 0.5)
    assert found.left_out == 2
    assert found.kept.tolist() == [0.25, 0.75, 0.5]
    assert found.mean == 0.5
    assert found.interval == half_width([0.25, 0.75, 0.5])
    assert found.worst_tenth == 0.25
    assert len(found.values) == 5


def test_a_task_whose_outputs_were_not_finite_is_not_left_out():
    losses = np.array([1.0, math.nan, 1.0])
    found = of(ROC_AUC, 0.25, math.nan, 0.75, losses=losses)
    assert found.left_out == 0
    assert math.isnan(found.mean)
    assert of(LOSS, *losses, losses=losses).left_out == 0


def test_a_metric_that_is_undefined_everywhere_has_no_mean_and_gives_no_warning():
    found = of(ROC_AUC, math.nan, math.nan)
    assert (found.left_out, len(found.kept)) == (2, 0)
    assert math.isnan(found.mean)
    assert math.isnan(found.worst_tenth)
    assert found.interval == math.inf


def test_the_interval_over_seeds_is_of_the_tasks_means_without_undefined_tasks():
    seeds = [of(ROC_AUC, 0.1, math.nan, 0.5, 0.9), of(ROC_AUC, 0.3, math.nan, 0.9, 0.7)]
    expected = half_width(np.array([0.2, 0.7, 0.8]))
    assert TaskValues.interval_over_seeds(seeds) == pytest.approx(expected, rel=1e-12)
    assert defined_in_all(seeds).tolist() == [True, False, True, True]
    unequal = [score(0.1, 0.2), score(0.1, 0.2, 0.4)]
    assert TaskValues.interval_over_seeds(unequal) == np.mean([one.interval for one in unequal])
