"""Recipes by name or path, with a budget and overrides by dotted name."""

import pytest
import yaml

from towpath.recipes.component import Component
from towpath.recipes.reading import options_on, overridden, read_recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.folder import CONFIG, RunFolder
from towpath.runs.made_with import MadeWith


def test_an_override_goes_to_the_depth_of_its_name():
    recipe = read_recipe("demo", [("training.steps", "7"), ("seed", "3")])
    assert (recipe.training.steps, recipe.seed) == (7, 3)


def test_another_component_drops_the_options_of_the_one_before():
    mapping = {"weighter": {"name": "tow", "beta": 1.0}}
    assert overridden(mapping, "weighter.name", "uniform") == {"weighter": {"name": "uniform"}}
    same = overridden(mapping, "weighter.name", "tow")
    assert same == mapping


TABLE = {
    "name": "assays.csv",
    "features": ["mass", "logp"],
    "splits": {"test": ["TOX_0"], "trusted": ["TOX_1"]},
}


@pytest.fixture
def table_recipe(tmp_path):
    path = tmp_path / "assays.yaml"
    path.write_text(yaml.safe_dump({"data": TABLE}))
    return str(path)


def test_another_table_is_read_with_the_options_of_the_recipe(table_recipe):
    recipe = read_recipe(table_recipe, [("data.name", "other.csv"), ("data.id", "compound")])
    kept = {key: value for key, value in TABLE.items() if key != "name"}
    assert recipe.data == Component("other.csv", {**kept, "id": "compound"})


def test_another_folder_is_read_with_the_options_of_the_recipe(tmp_path):
    (tmp_path / "other").mkdir()
    section = {"name": "own", "image_size": 28, "mix": {"omniglot": 0.5}}
    found = overridden({"data": section}, "data.name", str(tmp_path / "other"))
    assert found == {"data": {**section, "name": str(tmp_path / "other")}}


def test_a_set_that_lacks_an_option_of_the_recipe_is_refused(table_recipe):
    with pytest.raises(RecipeError, match="sets features, splits, which the data 'omniglot'") as e:
        read_recipe(table_recipe, [("data.name", "omniglot")])
    assert 'Replace the whole section with --data "{name: omniglot}"' in str(e.value)
    whole = read_recipe(table_recipe, [("data", "{name: omniglot}"), ("data.alphabets", "30")])
    assert whole.data == Component("omniglot", {"alphabets": 30})


def test_a_preview_of_other_data_has_the_options_that_training_would_have(table_recipe):
    recipe = read_recipe(table_recipe)
    assert options_on(recipe, "other.csv") == recipe.data.options
    with pytest.raises(RecipeError, match=r"which the data 'glyphs' do not have.*Leave --recipe"):
        options_on(recipe, "glyphs")


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


def test_the_configuration_of_a_run_is_a_recipe(tmp_path):
    recipe = read_recipe("quick", [("training.steps", "3")])
    folder = RunFolder.create(tmp_path / "run", recipe, MadeWith(command="towpath train quick"))
    assert read_recipe(str(folder.path / CONFIG)) == recipe


def test_a_folder_is_no_recipe_and_the_way_to_go_on_with_a_run_is_named(tmp_path):
    with pytest.raises(RecipeError, match=r"is a folder; expected.*towpath resume FOLDER"):
        read_recipe(str(tmp_path))
