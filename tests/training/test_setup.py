"""What a run says before it trains."""

import pytest

from tests.training.runs import TINY, tiny
from towpath.training import Recipe
from towpath.training.setup import prepare

ONE = {**TINY["training"], "horizon": 1}


def notes(recipe):
    return [note for note in prepare(recipe).notes if "training.horizon is 1" in note]


def test_plans_of_one_mini_batch_are_told_to_change_nothing():
    """Every one of them would have the status "nothing to plan", which nobody sees."""
    (note,) = notes(tiny("tow", training=ONE))
    assert "the weighter 'tow' aims at no trusted tasks" in note
    assert "Raise training.horizon, use tow-targets, or say --weighter.terminal replay." in note


@pytest.mark.parametrize("weighter", ["uniform", "tow-targets", "trim"])
def test_what_can_act_on_one_mini_batch_is_not_told_so(weighter):
    assert notes(tiny(weighter, training=ONE)) == []


def test_longer_windows_and_replayed_mini_batches_are_planned():
    assert notes(tiny("tow")) == []
    replayed = {**TINY, "training": ONE, "weighter": {"name": "tow", "terminal": "replay"}}
    assert notes(Recipe.of(replayed)) == []
