"""Scores in files: as they went, as every release wrote them, and refused where they are none."""

import json
import math

import numpy as np
import pytest

from towpath.metrics import ACCURACY, AVERAGE_PRECISION, LOSS, R2, RMSE, ROC_AUC
from towpath.runs.plain import json_digest, plain_json
from towpath.runs.scores import Score, ScoreSummary, scores_as_json, scores_from_json
from towpath.runs.task_values import half_width


def score(*accuracies: float) -> Score:
    return Score({ACCURACY: np.array(accuracies), LOSS: np.ones(len(accuracies))})


TWO_CLASSES = Score(
    {
        ACCURACY: np.array([0.5, 1.0, 0.75]),
        ROC_AUC: np.array([0.25, math.nan, 0.75]),
        AVERAGE_PRECISION: np.array([0.3, math.nan, 0.9]),
        LOSS: np.array([0.7, 0.1, 0.4]),
    }
)
REGRESSION = Score(
    {R2: np.array([0.5, -1.0]), RMSE: np.array([0.1, 0.4]), LOSS: np.array([0.01, 0.16])}
)


def test_the_summary_is_plain_numbers_and_names_its_metric():
    found = Score({ACCURACY: np.array([0.25, 0.75]), LOSS: np.array([2.0, 1.0])}).summary()
    assert found.as_json() == {
        "mean": 0.5,
        "interval": pytest.approx(half_width([0.25, 0.75])),
        "worst_tenth": 0.25,
        "tasks": 2,
        "loss": 1.5,
        "metric": "accuracy",
    }
    only_losses = Score({LOSS: np.array([2.0, 1.0])}).summary()
    assert only_losses.metric == LOSS
    assert only_losses.mean == 1.5
    assert only_losses.worst_tenth == 2.0


def test_the_metrics_beside_the_main_one_are_summarised_too():
    found = TWO_CLASSES.summary()
    assert (found.metric, found.mean, found.main.left_out) == (ACCURACY, 0.75, 0)
    assert list(found.others) == [ROC_AUC, AVERAGE_PRECISION, LOSS]
    assert (found.others[ROC_AUC].mean, found.others[ROC_AUC].left_out) == (0.5, 1)
    assert found.others[LOSS].worst_tenth == 0.7
    assert found.of(ACCURACY) is found.main
    assert found.of(R2) is None
    chosen = Score(TWO_CLASSES.by_metric, ROC_AUC).summary()
    assert (chosen.metric, chosen.mean, chosen.main.left_out) == (ROC_AUC, 0.5, 1)
    assert chosen.as_json()["left_out"] == 1
    assert list(chosen.others) == [ACCURACY, AVERAGE_PRECISION, LOSS]


def test_of_smaller_is_better_the_worst_tenth_is_the_largest():
    assert REGRESSION.worst_tenth == -1.0
    assert REGRESSION.of(RMSE).worst_tenth == 0.4


def through_a_file(content):
    return json.loads(json.dumps(plain_json(content)))


def test_scores_come_back_from_a_file_as_they_went():
    scores = {
        "a": score(0.1, 1 / 3, 0.7),
        "b": Score({LOSS: np.array([0.5, math.nan])}),
        "c": TWO_CLASSES,
        "d": Score(TWO_CLASSES.by_metric, ROC_AUC),
        "e": REGRESSION,
        "f": Score(REGRESSION.by_metric, LOSS),
    }
    back = scores_from_json(through_a_file(scores_as_json(scores)))
    assert list(back) == list(scores)
    for name, one in scores.items():
        assert list(back[name].by_metric) == list(one.by_metric)
        for metric, values in one.by_metric.items():
            np.testing.assert_array_equal(back[name].by_metric[metric], values)
        assert back[name].metric == one.metric
        said = one.summary()
        if name != "b":  # whose mean is NaN, which nothing equals
            assert ScoreSummary.from_json(through_a_file(said.as_json())) == said
    assert json_digest(scores_as_json(back)) == json_digest(scores_as_json(scores))


@pytest.mark.parametrize(
    ("content", "main"),
    [
        ({"accuracies": [0.5, 1.0], "losses": [1.0, 0.25]}, ACCURACY),
        ({"accuracies": None, "losses": [1.0, 0.25]}, LOSS),
    ],
)
def test_a_score_without_other_metrics_is_in_a_file_what_it_has_always_been(content, main):
    found = Score.from_json(content, "a")
    assert found.metric == main
    assert found.others == []
    assert found.as_json() == content
    assert "others" not in found.summary().as_json()


def test_what_older_releases_read_stands_where_they_look_for_it():
    for one in (TWO_CLASSES, Score(TWO_CLASSES.by_metric, ROC_AUC), REGRESSION):
        content = one.as_json()
        assert content["losses"] == one.losses.tolist()
        assert content["accuracies"] == (
            None if one.accuracies is None else one.accuracies.tolist()
        )


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
        {"a": {"losses": [1.0], "accuracies": None, "metrics": {"r2": [1.0, 1.0]}}},
        {"a": {"losses": [1.0], "accuracies": None, "metrics": [1.0]}},
        {"a": {"losses": [1.0], "accuracies": None, "metrics": {"beauty": [1.0]}}},
        {"a": {"losses": [1.0], "accuracies": None, "main": "r2"}},
        {"a": {"losses": [1.0], "accuracies": None, "main": 3}},
    ],
)
def test_results_that_are_not_a_number_for_each_task_are_refused(content):
    with pytest.raises((TypeError, KeyError, ValueError)):
        scores_from_json(content)
