"""A memory that is not the weighter's is refused; its own, as plans leave it, is taken."""

import re

import pytest

import towpath as tp
from towpath.recipes.typed import RecipeError
from towpath.training.remembered import check_memory

LOSSES = {"step": 3, "rule": {"losses": [0.5, 0.25]}}


@pytest.mark.parametrize(
    ("weighter", "memory"),
    [
        (tp.Mixture(), LOSSES),
        (tp.TOW(nominal=tp.Mixture()), {"nominal": LOSSES}),
        (tp.TOW(nominal=tp.Mixture()), {"nominal": LOSSES, "search": {"eps": 0.25}}),
        (tp.TOW(), {}),
        (tp.TOW(), {"search": {"eps": 0.5}}),
        (tp.Race(), {"rules": {"mixture": LOSSES, "gone": {}}}),
        (tp.TOW(acceptance="chance"), {"search": {"eps": 0.5}}),  # of an earlier release
        (tp.TOW(acceptance="chance"), {"search": {"eps": 0.5, "further": False}}),
    ],
)
def test_a_memory_of_the_weighters_own_is_taken(weighter, memory):
    check_memory(memory, weighter)


@pytest.mark.parametrize(
    ("weighter", "memory", "named"),
    [
        (tp.Mixture(), {"step": 3, "rule": {"losses": "many"}}, "weighter_state.losses 'many'"),
        (tp.Mixture(), {"step": 3, "rule": {"prices": []}}, "prices"),
        (tp.TOW(nominal=tp.Mixture()), {"rule": LOSSES}, "rule"),
        (tp.TOW(nominal=tp.Mixture()), {"nominal": {"step": 3, "rule": 7}}, "weighter_state 7"),
        (tp.TOW(), {"search": {"eps": "half"}}, "weighter_state.search.eps 'half'"),
        (tp.TOW(), {"search": 0.5}, "weighter_state.search 0.5"),
        (tp.TOW(), {"search": {"eps": 0.5, "further": "no"}}, "search.further 'no'"),
        (tp.TOW(), {"search": {"eps": 0.5, "more": 1}}, "'more'"),
        (tp.Race(), {"rules": "none"}, "'none'"),
        (tp.Race(), {"rules": {"evidence": {"step": 3, "rule": []}}}, "weighter_state []"),
    ],
)
def test_a_forged_memory_is_named(weighter, memory, named):
    with pytest.raises(RecipeError, match=re.escape(named)):
        check_memory(memory, weighter)


def test_a_rule_of_a_users_may_remember_anything():
    class Own(tp.MiniBatchWeighter):
        def weights(self, batch, state):
            return batch.losses, state

    check_memory({"step": 1, "rule": {"anything": ["at", "all"]}}, Own())
