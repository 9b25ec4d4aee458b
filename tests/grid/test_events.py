"""Events between processes: a line each, the same on both ends."""

import math

import pytest

from towpath.grid.events import Began, Ended, Failed, Stepped, event_line, event_of_line
from towpath.metrics import ACCURACY, LOSS
from towpath.runs.scores import MetricSummary, ScoreSummary

SCORE = ScoreSummary(
    MetricSummary(0.5, 0.25, 0.125), ACCURACY, 8, 1.5, {LOSS: MetricSummary(1.5, 1.0, 2.0)}
)


@pytest.mark.parametrize(
    "event", [Began(3, 40), Stepped(4, 40), Ended({"glyphs": SCORE}), Failed("why\nnot")], ids=repr
)
def test_an_event_comes_back_from_its_line(event):
    line = event_line(event)
    assert line.count("\n") == 1
    assert event_of_line(line) == event


def test_a_score_of_one_task_has_no_finite_interval_and_is_told_all_the_same():
    alone = ScoreSummary(MetricSummary(0.5, math.inf, 0.5), ACCURACY, 1, 1.5)
    found = event_of_line(event_line(Ended({"glyphs": alone})))
    assert isinstance(found, Ended)
    assert math.isnan(found.test["glyphs"].interval)


@pytest.mark.parametrize("line", ["3", "{}", '{"kind": "sang"}', '{"kind": "began", "step": 1}'])
def test_what_is_no_event_is_refused(line):
    with pytest.raises((TypeError, KeyError)):
        event_of_line(line)
