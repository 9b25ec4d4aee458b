"""What a comparison compares: written once, read as the same value, other runs refused."""

from dataclasses import replace

import pytest
import yaml

from tests.training.runs import Silent, tiny
from towpath.recipes.component import Component
from towpath.recipes.typed import RecipeError
from towpath.runs.comparison_spec import SPEC, ComparisonSpec, Contestant, is_comparison
from towpath.runs.folder import CONFIG
from towpath.training import train

SHORT = {"training": {"steps": 2, "horizon": 2, "meta_batch_size": 2}, "test": {"tasks": 2}}


def test_what_is_written_is_read_back(tmp_path):
    spec = ComparisonSpec.new(tmp_path / "c", tiny(), ["uniform", "tow:beta=1.0"], [0, 2])
    assert not is_comparison(spec.path)
    spec.write()
    assert is_comparison(spec.path)
    found = ComparisonSpec.read(spec.path)
    assert found.recipe.as_mapping() == spec.recipe.as_mapping()
    assert (found.contestants, found.seeds) == (spec.contestants, spec.seeds)
    assert [run.name for run in found.runs()] == [
        "uniform-seed0",
        "uniform-seed2",
        "tow_beta=1.0-seed0",
        "tow_beta=1.0-seed2",
    ]
    with pytest.raises(RecipeError, match="exists and is not empty"):
        spec.write()


def test_a_run_is_the_recipe_with_its_weighter_and_seed(tmp_path):
    spec = ComparisonSpec.new(tmp_path, tiny(), ["tow:beta=1.0"], [3])
    (run,) = spec.runs()
    assert run.recipe == replace(spec.recipe, weighter=Component("tow", {"beta": 1.0}), seed=3)


def test_options_of_the_recipes_own_weighter_are_kept():
    recipe = replace(tiny(), weighter=Component("tow", {"beta": 2.0, "iterations": 1}))
    own = Contestant.of("tow:beta=1.0", recipe)
    assert own.component == Component("tow", {"beta": 1.0, "iterations": 1})
    assert Contestant.of("cvar", recipe).component == Component("cvar")
    about = Contestant.of("tow-targets:nominal=mixture", recipe)
    assert about.component == Component("tow-targets", {"nominal": "mixture"})
    assert about.label == "tow-targets_nominal=mixture"
    with pytest.raises(RecipeError, match="expected option=value"):
        Contestant.of("tow:beta", recipe)


@pytest.mark.parametrize(
    ("weighters", "seeds", "said"),
    [
        ([], [0], "found no weighter"),
        (["tow"], [], "found no seed"),
        (["tow", "tow"], [0], "expected each once"),
        (["tow"], [0, 0], "expected each once"),
        (["tow"], [-1], "seed is -1"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path, weighters, seeds, said):
    with pytest.raises(RecipeError, match=said):
        ComparisonSpec.new(tmp_path, tiny(), weighters, seeds)


@pytest.mark.parametrize(
    "text", ["", "recipe: [", "recipe: {}", "recipe: {}\nweighters: 3\nseeds: [0]", "- 1"]
)
def test_a_damaged_file_is_told(tmp_path, text):
    (tmp_path / SPEC).write_text(text)
    with pytest.raises(RecipeError, match="is damaged"):
        ComparisonSpec.read(tmp_path)


def test_another_run_under_the_name_of_one_is_refused(tmp_path):
    spec = ComparisonSpec.new(tmp_path, tiny(**SHORT), ["uniform", "random"], [0])
    uniform, random = spec.runs()
    train(uniform.folder.path, uniform.recipe, Silent())
    spec.check_place(uniform)
    spec.check_place(random)  # not begun
    uniform.folder.path.rename(random.folder.path)
    with pytest.raises(RecipeError, match=r"holds another run than its name says \(weighter.name"):
        spec.check_place(spec.run(random.contestant, 0))


def test_a_run_of_a_release_with_fewer_fields_is_the_same_run(tmp_path):
    spec = ComparisonSpec.new(tmp_path, tiny(**SHORT), ["uniform"], [0])
    (uniform,) = spec.runs()
    train(uniform.folder.path, uniform.recipe, Silent())
    config = uniform.folder.path / CONFIG
    older = yaml.safe_load(config.read_text())
    del older["test"]["metric"]  # has its default
    config.write_text(yaml.safe_dump(older))
    spec.check_place(spec.run(uniform.contestant, 0))  # reads it again
    older["episodes"]["query"] += 1
    config.write_text(yaml.safe_dump(older))
    with pytest.raises(RecipeError, match=r"than its name says \(episodes.query differ"):
        spec.check_place(spec.run(uniform.contestant, 0))
