"""Named sets of weighters, as far as a recipe can run them."""

import pytest

from towpath.weighters import WEIGHTERS
from towpath.weighters.sets import REFEREES, expanded


def test_sets_of_weighters_leave_out_what_the_recipe_cannot_give():
    assert expanded(["all"], trusted=True, mislabelled=True) == list(WEIGHTERS)
    assert expanded(["referee"], trusted=True, mislabelled=True) == list(REFEREES)
    assert set(REFEREES) <= set(WEIGHTERS)
    free = expanded(["all"], trusted=False, mislabelled=False)
    assert "oracle" not in free
    assert not {"l2rw", "pds", "ats", "tow-targets", "trusted-only", "fine-tune"} & set(free)
    assert {"uniform", "mixture", "tow"} <= set(free)
    words = ["trim:keep=0.6", "uniform", "referee"]
    given = expanded(words, trusted=False, mislabelled=True)
    assert given[:2] == words[:2]
    assert given.count("uniform") == 1
    assert given[-1] == "oracle"


@pytest.mark.parametrize(
    ("word", "meant"), [("refere", "referee"), ("al", "all"), ("unifrom", "uniform")]
)
def test_a_misspelt_word_is_answered_with_the_nearest_weighter_or_set(word, meant):
    with pytest.raises(ValueError, match=rf"'{word}'.*sets all and referee.*'{meant}'\?") as said:
        expanded(["tow", word], trusted=True, mislabelled=True)
    assert all(name in str(said.value) for name in WEIGHTERS)


@pytest.mark.parametrize(
    "word", ["my_rules:Mine", "mine.rules.Mine", "m.rules:Mine:k=1", "tow:k=1"]
)
def test_a_class_of_the_users_and_options_are_not_looked_at_here(word):
    assert expanded([word], trusted=True, mislabelled=True) == [word]
