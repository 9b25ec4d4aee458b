"""A component as a recipe chooses it."""

import pytest

from towpath.recipes.component import Component
from towpath.recipes.typed import RecipeError


def test_a_name_alone_and_a_mapping_are_the_same():
    assert Component.of("weighter", "tow") == Component.of("weighter", {"name": "tow"})


def test_plain_values_are_read_back():
    component = Component.of("weighter", {"beta": 1.0, "name": "tow"})
    assert component == Component("tow", {"beta": 1.0})
    assert component.as_mapping() == {"name": "tow", "beta": 1.0}
    assert Component.of("weighter", component.as_mapping()) == component


def test_more_options_replace_those_of_the_same_name():
    component = Component("tow", {"beta": 1.0, "iterations": 2})
    assert component.given(beta=2.0).options == {"beta": 2.0, "iterations": 2}
    assert component.options["beta"] == 1.0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "weighter is 3; expected a section of options by name"),
        ({1: 2}, "expected a section of options by name"),
        ({"beta": 1}, "weighter.name is None; expected the name of a component"),
    ],
)
def test_what_is_no_component_is_refused(value, said):
    with pytest.raises(RecipeError, match=said):
        Component.of("weighter", value)
