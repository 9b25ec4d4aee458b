"""The sets beside the training set: what is recorded of them, and which are refused."""

import pytest

from towpath.data import Pool, load
from towpath.recipes.typed import RecipeError
from towpath.training.sets import other_sets, training_stream

from .runs import tiny


@pytest.fixture(scope="module")
def train() -> Pool:
    recipe = tiny()
    return load(recipe.data.name, split="train", **recipe.data.options)


def test_sets_are_recorded_with_their_digests_under_the_fields_that_name_them(train):
    recipe = tiny()
    found = other_sets(recipe, train, None)
    assert list(found.tests) == ["glyphs"]
    assert found.trusted is None
    held_out = load("glyphs", split="test", **recipe.data.options)
    assert found.contents["data test"] == held_out.content
    assert training_stream(recipe, train, None)[1] == {}  # nothing is mixed in


def test_two_test_sets_whose_results_would_have_one_name_are_refused(train):
    recipe = tiny(test={"tasks": 2, "also": ["glyphs"]})
    with pytest.raises(RecipeError, match="as another test set's; expected names that differ"):
        other_sets(recipe, train, None)


def test_a_table_is_no_test_set_of_a_run_on_images(train, tmp_path):
    table = tmp_path / "assays.csv"
    lines = [f"{task},{i},{i % 2}" for task in "abcdef" for i in range(8)]
    table.write_text("\n".join(["task,x,y", *lines]) + "\n")
    recipe = tiny(test={"tasks": 2, "also": [str(table)]})
    with pytest.raises(RecipeError, match="which is a table, and glyphs is images"):
        other_sets(recipe, train, None)
