"""Recipes by name or path, with a budget and overrides by dotted name."""

import pytest

from towpath.recipes.reading import overridden, read_recipe
from towpath.recipes.typed import RecipeError


def test_an_override_goes_to_the_depth_of_its_name():
    recipe = read_recipe("demo", [("training.steps", "7"), ("seed", "3")])
    assert (recipe.training.steps, recipe.seed) == (7, 3)


def test_another_component_drops_the_options_of_the_one_before():
    mapping = {"weighter": {"name": "tow", "beta": 1.0}}
    assert overridden(mapping, "weighter.name", "uniform") == {"weighter": {"name": "uniform"}}
    same = overridden(mapping, "weighter.name", "tow")
    assert same == mapping


def test_a_component_by_its_name_alone_takes_options():
    assert overridden({"weighter": "tow"}, "weighter.beta", 2.0) == {
        "weighter": {"name": "tow", "beta": 2.0}
    }


def test_what_is_asked_for_comes_after_the_small_budget():
    small = read_recipe("demo", budget="small")
    assert small.training.steps < read_recipe("demo").training.steps
    assert read_recipe("demo", [("training.steps", "9")], "small").training.steps == 9


def test_a_budget_that_is_none_is_refused():
    with pytest.raises(RecipeError, match=r"--budget is 'smal'.*Did you mean 'small'"):
        read_recipe("demo", budget="smal")
