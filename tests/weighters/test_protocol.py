"""What training asks a weighter before it trains."""

import pytest

import towpath as tp
from towpath.weighters.protocol import check_targets, wants_judges, wants_targets


class Own:
    """A weighter that says nothing of itself."""

    def plan(self, *_, **__):
        raise AssertionError("nothing is planned here")


def test_a_class_that_says_nothing_wants_nothing_and_is_not_checked():
    own = Own()
    assert not wants_targets(own)
    assert not wants_judges(own)
    check_targets(own)


def test_options_that_need_targets_are_refused_where_none_are_wanted():
    aimless = tp.TOW(beta="auto", shrink="agreement", wants_targets=False)
    with pytest.raises(ValueError, match=r"shrink='agreement'.* found no targets"):
        check_targets(aimless)
    check_targets(tp.TOW(beta="auto", shrink="agreement", wants_targets=True))


def test_a_race_is_refused_for_one_of_its_rules():
    aimless = tp.TOW(beta="auto", shrink="agreement", wants_targets=False)
    with pytest.raises(ValueError, match=r"shrink='agreement'.* found no targets"):
        check_targets(tp.Race({"uniform": tp.Uniform(), "tow": aimless}))
    check_targets(tp.Race({"uniform": tp.Uniform(), "tow": tp.TOW(wants_targets=True)}))
