"""The progress of a run, in words."""

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from tests.runs.test_summary import SUMMARY
from towpath.cli.progress import ConsoleReporter
from towpath.metrics import ACCURACY, LOSS, R2, RMSE
from towpath.runs.scores import Score
from towpath.training.estimate import Estimate

REGRESSION = Score(
    {R2: np.array([0.5, np.nan, -0.25]), RMSE: np.array([0.5, 1.0, 1.5]), LOSS: np.ones(3)}
)
IMAGES = Score({ACCURACY: np.array([0.25, 0.75]), LOSS: np.ones(2)})


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=300)


def said(console):
    return console.file.getvalue()


def ended(console, score):
    ConsoleReporter(console).ended(replace(SUMMARY, test={"assays": score.summary()}))
    return said(console).splitlines()


def test_what_a_user_should_know_of_the_expected_cost_is_said_after_it(console):
    usual = Estimate(2.0, 1.0, 20.0, 1.0, 0, 2**30)
    ConsoleReporter(console).expected(usual)
    ConsoleReporter(console).expected(replace(usual, idle_threads=3))
    first, second, note = said(console).splitlines()
    assert first == second
    assert "draws random numbers" in note
    assert "threads: 4 saves no time" in note


def test_a_run_of_accuracies_ends_as_ever(console):
    (line,) = ended(console, IMAGES)
    assert line == (
        "  test on assays: 50.0% +-317.7 over 2 tasks, worst tenth 25.0%, 8 s of training, "
        "parameters of step 20 (best validation, 75.0%)"
    )


def test_a_run_of_regressions_ends_without_per_cent_and_says_what_was_left_out(console):
    first, second = ended(console, REGRESSION)
    assert first.startswith(
        "  test on assays: R2 0.125 +-4.765 over 3 tasks (1 left out: all query"
    )
    assert "worst tenth -0.250," in first
    assert second == "    RMSE 1.000 +-1.242, loss 1.000 +-0.000"
    assert "%" not in first + second
