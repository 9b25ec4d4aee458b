"""Which of the paper's methods a weighter is."""

import pytest

from towpath.recipes.component import Component
from towpath.reports.methods import method_of, weighter_difference
from towpath.reports.sections import paper


def test_the_papers_tow_is_named_in_one_place_only():
    assert paper.METHODS["tow"] == "tow-faithful"
    assert [method_of(Component(name)) for name in ("tow", "tow-faithful")] == ["", "tow"]


@pytest.mark.parametrize(
    ("component", "words"),
    [
        (Component("tow-faithful"), ""),
        (Component("tow"), "ours: not the paper's TOW"),
        (Component("tow-faithful", {"beta": 1.0}), "weighter.beta 1.0 instead of 10.0"),
        (Component("cvar"), "not a weighter of the paper"),
    ],
)
def test_a_weighter_that_is_not_the_papers_says_what_differs(component, words):
    assert weighter_difference(component) == words
