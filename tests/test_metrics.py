"""Metrics against computations that share nothing with them, and on tasks where they are undefined.

The references count pairs and thresholds one by one, in time O(n^2), as the definitions say.
"""

import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.metrics import (
    ACCURACY,
    AVERAGE_PRECISION,
    LOSS,
    METRICS,
    R2,
    RMSE,
    ROC_AUC,
    area_under_curve,
    average_precision,
    metric_named,
    suited,
)

exactly = settings(max_examples=100, deadline=None, derandomize=True)


def pairs_in_order(scores, positive) -> float:
    """The area under the ROC curve, pair by pair."""
    ups = [s for s, p in zip(scores, positive, strict=True) if p]
    downs = [s for s, p in zip(scores, positive, strict=True) if not p]
    won = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in ups for b in downs)
    return won / (len(ups) * len(downs))


def threshold_by_threshold(scores, positive) -> float:
    """The average precision, one threshold after another."""
    total, recall = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        chosen = [p for s, p in zip(scores, positive, strict=True) if s >= threshold]
        now = sum(chosen) / sum(positive)
        total += (now - recall) * sum(chosen) / len(chosen)
        recall = now
    return total


@st.composite
def samples(draw):
    """Scores with many ties, and samples of both classes."""
    n = draw(st.integers(2, 30))
    values = st.integers(-4, 4).map(lambda i: i / 4)
    scores = draw(st.lists(values, min_size=n, max_size=n))
    positive = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    positive[0], positive[1] = True, False
    return scores, positive


@exactly
@given(samples())
def test_the_area_counts_pairs_and_half_of_the_ties(drawn):
    scores, positive = drawn
    assert area_under_curve(scores, positive) == pytest.approx(pairs_in_order(scores, positive))


@exactly
@given(samples())
def test_average_precision_is_the_step_wise_sum_over_thresholds(drawn):
    scores, positive = drawn
    expected = threshold_by_threshold(scores, positive)
    assert average_precision(scores, positive) == pytest.approx(expected)


@exactly
@given(samples(), st.randoms())
def test_only_the_order_of_scores_counts_and_that_of_samples_does_not(drawn, random):
    scores, positive = drawn
    order = list(range(len(scores)))
    random.shuffle(order)
    moved = [math.exp(3 * scores[i]) - 5 for i in order], [positive[i] for i in order]
    for figure in (area_under_curve, average_precision):
        assert figure(*moved) == pytest.approx(figure(scores, positive), abs=1e-12)


@exactly
@given(samples())
def test_the_area_of_reversed_scores_or_classes_is_the_rest(drawn):
    scores, positive = drawn
    area = area_under_curve(scores, positive)
    assert area_under_curve([-s for s in scores], positive) == pytest.approx(1 - area)
    assert area_under_curve(scores, [not p for p in positive]) == pytest.approx(1 - area)


@pytest.mark.parametrize(
    ("scores", "positive", "area", "precision"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1], 1.0, 1.0),
        ([4, 3, 2, 1], [0, 0, 1, 1], 0.0, (1 / 3 + 2 / 4) / 2),
        ([1, 1, 1, 1], [0, 1, 0, 0], 0.5, 0.25),  # one threshold: the share of positives
        ([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], 0.75, (1 + 2 / 3) / 2),
        ([1, 2, 2, 3], [0, 0, 1, 1], 0.875, (1 + 2 / 3) / 2),
        ([-math.inf, math.inf], [0, 1], 1.0, 1.0),
    ],
)
def test_cases_by_hand(scores, positive, area, precision):
    assert area_under_curve(scores, positive) == pytest.approx(area)
    assert average_precision(scores, positive) == pytest.approx(precision)


@pytest.mark.parametrize("positive", [[True] * 3, [False] * 3, []])
def test_one_class_alone_has_neither(positive):
    scores = list(range(len(positive)))
    assert math.isnan(area_under_curve(scores, positive))
    assert math.isnan(average_precision(scores, positive))


def random_task(n=40, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(n, 2, generator=generator, dtype=torch.float64).to(dtype)
    return outputs, torch.randint(0, 2, (n,), generator=generator)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_two_classes_are_scored_by_the_probability_of_class_1(dtype):
    outputs, labels = random_task(dtype=dtype)
    p = outputs.double().softmax(-1)[:, 1].tolist()
    expected = pairs_in_order(p, labels.tolist())
    assert ROC_AUC.of(outputs, labels) == pytest.approx(expected, rel=1e-12)
    expected = threshold_by_threshold(p, labels.tolist())
    assert AVERAGE_PRECISION.of(outputs, labels) == pytest.approx(expected, rel=1e-12)


def test_outputs_where_a_softmax_saturates_are_still_told_apart():
    outputs = torch.tensor([[0.0, 60.0], [0.0, 70.0], [0.0, 80.0]])
    assert outputs.softmax(-1)[:, 1].unique().tolist() == [1.0]
    assert ROC_AUC.of(outputs, torch.tensor([0, 0, 1])) == 1.0


def test_accuracy_is_the_share_of_hits():
    outputs = torch.tensor([[3.0, 1.0, 0.0], [0.0, 1.0, 2.0], [5.0, 0.0, 0.0]])
    assert ACCURACY.of(outputs, torch.tensor([0, 2, 1])) == pytest.approx(2 / 3)


@pytest.mark.parametrize("shape", [(9,), (9, 1), (9, 2)])
def test_regression_against_the_definitions_one_number_at_a_time(shape):
    generator = torch.Generator().manual_seed(1)
    y, f = (torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2))
    rows_y, rows_f = y.reshape(9, -1).tolist(), f.reshape(9, -1).tolist()
    width = len(rows_y[0])
    means = [sum(row[c] for row in rows_y) / 9 for c in range(width)]
    spread = sum((row[c] - means[c]) ** 2 for row in rows_y for c in range(width))
    errors = [(a[c] - b[c]) ** 2 for a, b in zip(rows_y, rows_f, strict=True) for c in range(width)]
    assert R2.of(f, y) == pytest.approx(1 - sum(errors) / spread, rel=1e-12)
    assert RMSE.of(f, y) == pytest.approx(math.sqrt(sum(errors) / len(errors)), rel=1e-12)


def test_the_r2_of_the_targets_is_one_and_of_their_mean_zero():
    y = torch.tensor([[1.0], [2.0], [6.0]])
    assert (R2.of(y, y), RMSE.of(y, y)) == (1.0, 0.0)
    assert R2.of(torch.full_like(y, 3.0), y) == 0.0
    assert R2.of(-y, y) < 0


@exactly
@given(st.floats(-3, 3).filter(lambda a: abs(a) > 0.1), st.floats(-5, 5))
def test_r2_has_no_unit_and_rmse_has_that_of_the_targets(scale, shift):
    y = torch.tensor([1.0, 2.0, 6.0, 0.5], dtype=torch.float64)
    f = torch.tensor([1.5, 2.0, 5.0, 1.0], dtype=torch.float64)
    assert R2.of(scale * f + shift, scale * y + shift) == pytest.approx(R2.of(f, y), rel=1e-9)
    moved = RMSE.of(scale * f + shift, scale * y + shift)
    assert moved == pytest.approx(abs(scale) * RMSE.of(f, y), rel=1e-9)


@pytest.mark.parametrize("value", [0.1, 1e6 / 3])
def test_equal_targets_have_no_r2_whatever_is_left_of_rounding(value):
    y = torch.full((7, 1), value, dtype=torch.float64)
    assert math.isnan(R2.of(y + 1, y))
    assert RMSE.of(y + 1, y) == pytest.approx(1.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e200])
def test_outputs_that_are_not_finite_give_no_warning_and_no_good_value(bad):
    outputs, labels = random_task()
    outputs[3] = bad
    for metric in (ROC_AUC, AVERAGE_PRECISION):
        value = metric.of(outputs, labels)
        assert math.isnan(value) == (bad != 1e200)
    y = torch.arange(6.0, dtype=torch.float64)
    f = y.clone()
    f[3] = bad
    assert not R2.of(f, y) > 0
    assert not RMSE.of(f, y) < 1


def test_a_metric_says_which_tasks_have_it():
    def names(classes):
        return [metric.name for metric in suited(METRICS.values(), classes)]

    assert names(2) == ["accuracy", "roc_auc", "average_precision", "loss"]
    assert names(5) == ["accuracy", "loss"]
    assert names(None) == ["r2", "rmse", "loss"]


def test_a_metric_knows_which_way_is_better_and_how_it_is_shown():
    smaller = {
        metric.name for metric in METRICS.values() if metric.goodness(1) < metric.goodness(0)
    }
    assert smaller == {"rmse", "loss"}
    assert (ACCURACY.text(0.5), ACCURACY.shown(0.5)) == ("50.0%", "50.0")
    assert (R2.text(-0.25), R2.shown(-0.25)) == ("-0.250", "-0.250")
    assert (ACCURACY.heading, RMSE.heading) == ("accuracy (%)", "RMSE")
    assert LOSS.shown(0.125, sign=True) == "+0.125"


def test_metrics_are_found_by_name_and_go_to_other_processes():
    for name, metric in METRICS.items():
        assert metric_named(name) is metric
        assert pickle.loads(pickle.dumps(metric)) == metric
    with pytest.raises(
        ValueError, match="Found the metric 'auc'; expected one of accuracy, roc_auc"
    ):
        metric_named("auc")


def test_the_loss_is_the_objectives_to_compute():
    with pytest.raises(ValueError, match="the metric 'loss', which depends on more than outputs"):
        LOSS.of(*random_task())


def test_scores_of_numpy_and_of_lists_are_the_same():
    scores = [0.1, 0.4, 0.35, 0.8]
    assert area_under_curve(np.array(scores), np.array([0, 0, 1, 1])) == 0.75
