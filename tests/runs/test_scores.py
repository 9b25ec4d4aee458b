"""Means, intervals and paired differences against scipy and closed forms; scores in files."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from towpath.runs.plain import plain_json
from towpath.runs.scores import (
    PairedDifference,
    Score,
    ScoreSummary,
    SeedDifferences,
    half_width,
    paired_difference,
    scores_as_json,
    scores_from_json,
)


def score(*accuracies: float) -> Score:
    return Score(np.array(accuracies), np.ones(len(accuracies)))


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
    assert Score(values, np.zeros(tasks)).worst_tenth == pytest.approx(lowest)
    highest = sum(range(tasks - counted, tasks)) / tasks / counted
    assert Score(None, values).worst_tenth == pytest.approx(highest)


def test_the_summary_is_plain_numbers_and_names_its_metric():
    found = Score(np.array([0.25, 0.75]), np.array([2.0, 1.0])).summary()
    assert found.as_json() == {
        "mean": 0.5,
        "interval": pytest.approx(half_width([0.25, 0.75])),
        "worst_tenth": 0.25,
        "tasks": 2,
        "loss": 1.5,
        "metric": "accuracy",
    }
    only_losses = Score(None, np.array([2.0, 1.0])).summary()
    assert only_losses.metric == "loss"
    assert only_losses.mean == 1.5
    assert only_losses.worst_tenth == 2.0


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


def through_a_file(content):
    return json.loads(json.dumps(plain_json(content)))


def test_scores_and_differences_come_back_from_a_file_as_they_went():
    scores = {"a": score(0.1, 1 / 3, 0.7), "b": Score(None, np.array([0.5, math.nan]))}
    back = scores_from_json(through_a_file(scores_as_json(scores)))
    assert list(back) == ["a", "b"]
    for name, one in scores.items():
        np.testing.assert_array_equal(back[name].values, one.values)
        assert back[name].metric == one.metric
    said = scores["a"].summary()
    assert ScoreSummary.from_json(through_a_file(said.as_json())) == said
    both = SeedDifferences.between({0: scores["a"], 3: score(0.2)}, {0: score(0.2, 0.2, 0.9)})
    assert both is not None
    assert SeedDifferences.from_json(through_a_file(both.as_json())) == both
    alone = paired_difference(np.array([0.9]), np.array([0.1]))
    assert PairedDifference.from_json(through_a_file(alone.as_json())) == alone


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"a": 3},
        {"a": {"losses": [], "accuracies": None}},
        {"a": {"losses": [1.0], "accuracies": [1.0, 0.5]}},
        {"a": {"losses": [1.0], "accuracies": ["half"]}},
        {"a": {"losses": {"0": 1.0}, "accuracies": None}},
        {"a": {"accuracies": [1.0]}},
    ],
)
def test_results_that_are_not_a_number_for_each_task_are_refused(content):
    with pytest.raises((TypeError, KeyError)):
        scores_from_json(content)
