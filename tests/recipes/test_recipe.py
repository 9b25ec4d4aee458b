"""A recipe is a value: what it gives back is read as the same recipe."""

import pytest
import yaml

from towpath.recipes import shipped_recipes
from towpath.recipes.reading import read_recipe
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError


@pytest.mark.parametrize("name", shipped_recipes())
def test_a_recipe_is_read_back_from_what_it_writes(name):
    recipe = read_recipe(name)
    text = yaml.safe_dump(recipe.as_mapping(), sort_keys=False)
    assert Recipe.of(yaml.safe_load(text)).as_mapping() == recipe.as_mapping()


def test_another_seed_changes_nothing_else():
    recipe = read_recipe("demo")
    assert recipe.with_seed(7).as_mapping() == {**recipe.as_mapping(), "seed": 7}


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "1", True])
def test_there_is_no_such_seed(seed):
    with pytest.raises(RecipeError, match="seed is"):
        read_recipe("demo").with_seed(seed)
