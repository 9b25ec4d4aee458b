import pytest

from towpath.data import EpisodeSpec
from towpath.recipes.component import Component
from towpath.recipes.components import data_options
from towpath.recipes.mix import mix_shares
from towpath.recipes.reading import read_recipe
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError

PLAIN = EpisodeSpec()
OFF = EpisodeSpec(label_noise=0.6, noise_kind="off-target")


def shares(mix, episodes=PLAIN):
    return mix_shares(Component("mini-imagenet", {"mix": mix}), episodes)


def test_shares_are_given_by_set_or_by_the_noise_of_the_tasks():
    assert shares({"omniglot": 0.6}) == {"omniglot": 0.6}
    assert shares({"omniglot": 0.5, "cub": 0.5}) == {"omniglot": 0.5, "cub": 0.5}
    assert shares("omniglot", OFF) == {"omniglot": 0.6}
    assert shares(["omniglot", "cub"], OFF) == {"omniglot": 0.3, "cub": 0.3}
    assert mix_shares(Component("glyphs"), PLAIN) == {}


@pytest.mark.parametrize(
    ("mix", "episodes", "said"),
    [
        ({}, OFF, "there is no data.mix"),
        ({"omniglot": 0.6}, OFF, "expected one of them"),
        ("omniglot", PLAIN, "gives no share"),
        ({"omniglot": 1.2}, PLAIN, "a number above 0 and up to 1"),
        ({"omniglot": True}, PLAIN, "a number above 0 and up to 1"),
        ({"omniglot": "half"}, PLAIN, "a number above 0 and up to 1"),
        ({"omniglot": 0.6, "cub": 0.6}, PLAIN, "add up to 1.2"),
        (0.6, PLAIN, "expected shares by set"),
        ([1, 2], OFF, "expected shares by set"),
    ],
)
def test_a_mix_that_cannot_be_used_is_refused_when_the_recipe_is_read(mix, episodes, said):
    with pytest.raises(RecipeError, match=said):
        shares(mix, episodes)
    with pytest.raises(RecipeError, match=said):
        Recipe.of({"data": {"name": "glyphs", "mix": mix}, "episodes": episodes})


def test_a_mix_is_no_option_of_the_loader_and_is_written_into_the_configuration():
    recipe = read_recipe("demo", [("data.mix.omniglot", "0.6")])
    assert data_options(recipe.data) == {}
    assert recipe.as_mapping()["data"] == {"name": "glyphs", "mix": {"omniglot": 0.6}}
    assert Recipe.of(recipe.as_mapping()) == recipe
    whole = read_recipe("demo", [("data.mix", "{omniglot: 0.6}")])
    assert whole == recipe
