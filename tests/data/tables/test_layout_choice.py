"""The layout of a table, given or guessed."""

import pytest

from tests.data.tables.test_layouts import NOTHING, WIDE
from towpath.data.errors import DataError
from towpath.data.tables.layout_choice import LayoutChoice


def test_named_features_leave_the_other_numbers_as_tasks():
    layout = LayoutChoice().chosen(WIDE, frozenset(("f1", "f2")), True)
    assert layout.columns == ("a", "b", "c")


def test_contradicting_options_are_refused():
    for choice in (
        LayoutChoice("wide", target="a"),
        LayoutChoice("long", tasks=("a",)),
        LayoutChoice("labels", task="a"),
        LayoutChoice(tasks=("a",), task="b"),
    ):
        with pytest.raises(DataError, match="Remove what does not apply"):
            choice.chosen(WIDE, NOTHING, False)
