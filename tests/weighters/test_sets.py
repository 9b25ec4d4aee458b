"""Named sets of weighters, as far as a recipe can run them."""

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
