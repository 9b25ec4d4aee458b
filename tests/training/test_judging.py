"""Validation keeps the best parameters, and judging a learner leaves its mode as it was."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from towpath.metrics import METRICS
from towpath.runs.scores import Score
from towpath.training import judging
from towpath.training.checkpoint import Checkpoint
from towpath.training.evaluation import evaluate, evaluation_mode
from towpath.training.judging import chosen_params, final_scores, validated
from towpath.training.setup import prepare

from .runs import Silent, tiny


@pytest.fixture(scope="module")
def setup():
    return prepare(tiny(validation={"tasks": 3, "every": 2}, test={"tasks": 4}))


class Told(Silent):
    def __init__(self):
        self.validations, self.tests = [], []

    def validated(self, step, score, best):
        self.validations.append((step, score.mean, best))

    def tested(self, done, total):
        self.tests.append((done, total))


def test_the_first_validation_is_the_best_and_an_equal_one_is_not(setup):
    told = Told()
    start = Checkpoint(setup.start, None, 0, 0, 0.0, 0.0)
    assert chosen_params(start) is setup.start.params
    first, record = validated(setup, start, told)
    assert first.best is not None
    assert (first.best.score, first.since_best, record.best) == (record.score.mean, 0, True)
    state = replace(setup.start, step=8)
    again, record = validated(setup, replace(first, state=state), told)
    assert again.best is first.best
    assert (again.since_best, record.best, record.step) == (1, False, 8)
    assert told.validations == [(0, record.score.mean, True), (8, record.score.mean, False)]
    assert chosen_params(again) is first.best.params


@pytest.mark.parametrize(
    ("metric", "first", "second", "kept"),
    [
        ("accuracy", 0.5, 0.6, 1),
        ("roc_auc", 0.6, 0.5, 0),
        ("loss", 0.5, 0.6, 0),
        ("loss", 0.6, 0.5, 1),
    ],
)
def test_the_best_is_the_largest_or_the_smallest_as_the_metric_says(
    setup, monkeypatch, metric, first, second, kept
):
    recipe = replace(setup.recipe, test=replace(setup.recipe.test, metric=metric))
    chosen = replace(setup, recipe=recipe)
    assert chosen.metric == METRICS[metric]
    means = iter((first, second))

    def score(*_, main):
        values = dict.fromkeys(METRICS.values(), np.zeros(2))
        return Score({**values, main: np.full(2, next(means))}, main)

    monkeypatch.setattr(judging, "evaluate", score)
    told, start = Told(), Checkpoint(setup.start, None, 0, 0, 0.0, 0.0)
    now, _ = validated(chosen, start, told)
    now, record = validated(chosen, replace(now, state=replace(setup.start, step=8)), told)
    assert now.best is not None
    assert (now.best.step == 8, record.best, now.since_best) == (bool(kept), bool(kept), 1 - kept)
    assert abs(now.best.score) == (first, second)[kept]
    assert record.score.mean == second  # as it is, not negated


def test_the_tests_are_of_the_chosen_parameters(setup):
    told = Told()
    best = {name: torch.zeros_like(p) for name, p in setup.start.params.items()}
    start = Checkpoint(setup.start, None, 0, 0, 0.0, 0.0)
    now, _ = validated(setup, replace(start, state=replace(setup.start, params=best)), told)
    scores, seconds = final_scores(setup, replace(now, state=setup.start), told)
    expected = evaluate(setup.objective, best, setup.test_tasks("glyphs", 4))
    assert scores["glyphs"].values.tolist() == expected.values.tolist()
    assert told.tests[-1] == (4, 4)
    assert seconds > 0


@pytest.mark.parametrize("training", [True, False])
def test_a_learner_is_in_the_mode_that_it_was_in_after_it_was_judged(training):
    module = nn.Dropout().train(training)
    with evaluation_mode(module):
        assert not module.training
    assert module.training == training
