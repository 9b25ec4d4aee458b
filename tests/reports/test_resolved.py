"""A recipe's values with every default filled in."""

from towpath.recipes.component import Component
from towpath.recipes.reading import read_recipe
from towpath.recipes.recipe import Recipe
from towpath.reports.differences import differences
from towpath.reports.resolved import filled_in, registered_weighter, resolved
from towpath.weighters.race.lineup import BASELINE, line_up


def test_a_default_that_is_written_out_is_no_difference():
    wanted = read_recipe("omniglot-maml")
    spelt = [
        ("backbone.filters", "32"),
        ("optimizer.betas", "[0.9, 0.999]"),
        ("data.image_size", "28"),
        ("data.rotations", "false"),
    ]
    assert differences(read_recipe("omniglot-maml", spelt), wanted) == ()


def test_defaults_of_every_component_have_a_dotted_name():
    values = resolved(Recipe.of({"data": {"name": "omniglot"}, "weighter": {"name": "tow"}}))
    assert values["data.image_size"] == 28
    assert values["weighter.beta"] == 10.0
    assert not {"data.root", "data.split", "learner.model"} & values.keys()


def test_the_users_own_data_have_the_defaults_of_their_loader():
    table = resolved(Recipe.of({"data": {"name": "assays.csv"}}))
    assert table["data.layout"] == "auto"
    assert "data.image_size" not in table
    assert "data.image_size" in resolved(Recipe.of({"data": {"name": "animals"}}))


def shown_rules(recipe: Recipe) -> object:
    weighter = filled_in(recipe)["weighter"]
    assert isinstance(weighter, dict)
    return weighter["rules"]


def test_the_rules_of_a_race_are_a_list_of_names_that_a_recipe_may_have():
    race = Recipe.of({"weighter": {"name": "auto"}})
    assert shown_rules(race) == list(line_up())
    assert next(iter(line_up())) == BASELINE
    assert filled_in(Recipe.of(filled_in(race))) == filled_in(race)
    given = ["uniform", "trim:keep=0.5"]
    assert shown_rules(Recipe.of({"weighter": {"name": "race", "rules": given}})) == given


def test_equal_values_are_equal_weighters_and_nobodys_is_none():
    assert registered_weighter(Component("tow")) == registered_weighter(
        Component("tow", {"beta": 10.0})
    )
    assert registered_weighter(Component("tow")) != registered_weighter(Component("tow-faithful"))
    assert registered_weighter(Component("somebody.elses:Rule")) is None
    assert registered_weighter(Component("tow", {"no_such_option": 1})) is None
