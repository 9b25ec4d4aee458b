"""Data that changed since a run began are noticed; where nobody can know, that is said."""

from dataclasses import replace

import pytest

from tests.training.runs import run, tiny
from towpath.recipes.typed import RecipeError
from towpath.training import RunFolder
from towpath.training.same_data import check_data
from towpath.training.setup import prepare


def test_the_same_data_pass_and_others_are_named(tmp_path):
    recipe = tiny("uniform", training={"steps": 2, "horizon": 2, "meta_batch_size": 2})
    folder = RunFolder.open(run(tmp_path / "run", recipe))
    setup = prepare(recipe)
    check_data(folder, setup)
    name = next(iter(setup.contents))
    other = replace(setup, contents={**setup.contents, name: "0" * 64})
    with pytest.raises(RecipeError, match="expected the same files"):
        check_data(folder, other)
