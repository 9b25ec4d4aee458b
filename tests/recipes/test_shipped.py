"""Every shipped recipe runs for one window, where its data is there."""

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.training.runs import Silent, records
from towpath.data import present
from towpath.data.locations import DATA_VARIABLE
from towpath.recipes import shipped_recipes
from towpath.recipes.component import Component
from towpath.recipes.reading import read_recipe
from towpath.reports.sections import paper
from towpath.runs.comparison_spec import Contestant
from towpath.training import train
from towpath.weighters import WEIGHTERS

ROOT = os.environ.get(DATA_VARIABLE)  # as the session began: fixtures of other tests unset it
SMALLER = [
    ("training.meta_batch_size", "2"),
    ("validation.tasks", "2"),
    ("test.tasks", "2"),
    ("episodes.query", "4"),
]
PHOTOGRAPHS_BY_DEFAULT = "mini-imagenet-protonet"
"""the others take minutes on one core"""


def marked(name):
    photographs = read_recipe(name).data.name == "mini-imagenet"
    slow = photographs and name != PHOTOGRAPHS_BY_DEFAULT
    return pytest.param(name, marks=pytest.mark.slow) if slow else name


@pytest.mark.parametrize("name", [marked(name) for name in shipped_recipes()])
def test_a_shipped_recipe_runs_for_one_window(name, tmp_path):
    full = read_recipe(name)
    for needed in (full.data.name, *full.test.also, *full.data.options.get("mix", ())):
        if not present(needed, ROOT):
            pytest.skip(f"needs {needed}: set {DATA_VARIABLE} to the folder that holds it")
    words = list(SMALLER)
    if full.data.name == "mini-imagenet":
        words.append(("training.horizon", "2"))
    if "adaptation_steps" in full.learner.options:
        words.append(("learner.adaptation_steps", "1"))
    recipe = read_recipe(name, words, "small")
    horizon = recipe.training.horizon
    recipe = replace(recipe, training=replace(recipe.training, steps=horizon))
    probes = [replace(probe, horizon=2, meta_batch_size=2) for probe in recipe.probes]
    recipe = replace(recipe, probes=probes)
    summary = train(tmp_path / "run", recipe, Silent(), data_root=ROOT)
    assert summary.steps == horizon
    assert summary.windows == 1
    assert len(summary.test) == 1 + len(full.test.also)
    lines = [line for line in records(Path(tmp_path / "run")) if "losses" in line]
    assert len([line for line in lines if "probe" not in line]) == horizon
    assert {line["probe"] for line in lines if "probe" in line} == {p.name for p in full.probes}


@pytest.mark.parametrize("name", shipped_recipes())
def test_a_shipped_recipe_says_what_it_is_and_names_weighters_that_exist(name):
    recipe = read_recipe(name)
    assert recipe.name == name
    assert recipe.about
    assert recipe.weighter.name in WEIGHTERS
    assert recipe.compare
    for text in recipe.compare:
        Contestant.of(text, recipe)
    if "tow-targets" in recipe.compare:
        assert recipe.trusted.count
    assert read_recipe(name, budget="small").training.steps < recipe.training.steps


OF_OTHERS = [row.recipe for row in paper.ANY_SHOT_OTHERS]
"""rows of the any-shot table that the paper took from another one"""
OWN = [n for n in shipped_recipes() if read_recipe(n).reproduces and n not in OF_OTHERS]


def test_the_papers_experiments_have_its_settings():
    for name in OWN:
        recipe = read_recipe(name)
        omniglot = recipe.data.name == "omniglot"
        assert recipe.training.horizon == 5
        assert recipe.training.meta_batch_size == (10 if omniglot else 5)
        assert recipe.optimizer == Component("adam", {"meta_lr": 1e-4})
        assert recipe.validation.tasks == 100
        if recipe.learner.name == "maml":
            assert recipe.learner.options["inner_lr"] == (0.1 if omniglot else 0.01)
            assert recipe.learner.options["adaptation_steps"] == 5
        expected = 3000 if recipe.episodes.shots == "any" else 1000 if omniglot else 600
        assert recipe.test.tasks == expected
        assert recipe.data.options.get("alphabets") == (30 if omniglot else None)


def test_the_papers_tow_is_the_faithful_one_in_every_recipe_of_the_paper():
    """Ours, `tow`, stands beside it; an ablation changes one option of the paper's."""
    for name in OWN:
        recipe = read_recipe(name)
        assert recipe.weighter == Component("tow-faithful"), name
        if name.startswith("ablation"):
            assert all(text.startswith("tow-faithful:") for text in recipe.compare)
        else:
            assert recipe.compare[-2:] == ["tow-faithful", "tow"], name


def test_the_study_of_the_exact_value_is_the_papers_maml_on_both_sets():
    """Appendix B."""
    recipes = [read_recipe(n) for n in shipped_recipes() if n.startswith("ablation-exact-value")]
    assert {recipe.data.name for recipe in recipes} == {"omniglot", "mini-imagenet"}
    for recipe in recipes:
        assert recipe.learner.name == "maml"
        values = [Contestant.of(text, recipe).component.options["value"] for text in recipe.compare]
        assert values == ["diagonal", "exact"]


def test_a_recipe_of_the_paper_says_what_the_paper_leaves_open():
    for name in OWN:
        recipe = read_recipe(name)
        said = recipe.about
        assert "The paper leaves open, and chosen here:" in said
        assert f"{recipe.training.steps:,} steps" in said
        assert "T = 5" in said
        assert ("first-order" in said) == bool(recipe.learner.options.get("first_order"))
        assert ("dropout of 0.1, by element" in said) == ("dropout" in recipe.backbone.options)
        if recipe.data.name == "omniglot":
            assert "T = 10" in said
            assert "a fifth of each training alphabet's characters" in said


def test_the_study_of_weights_watches_mini_batches_of_different_alphabets():
    """Appendix C: five tasks of one alphabet, or of five different ones."""
    probes = {probe.name: probe for probe in read_recipe("weights-study-omniglot").probes}
    for split in ("train", "test"):
        assert probes[split].distinct_groups
        assert probes[f"{split}-one-alphabet"].groups == 1
        assert probes[split].meta_batch_size == probes[split].horizon == 5


class Setting(NamedTuple):
    """Length, rate and clipping of a training."""

    tasks: int
    steps: int
    meta_lr: float
    clip_value: float | None


OF_THE_METHOD = {
    "any-shot-mt-net": Setting(4, 60_000, 1e-3, 10.0),
    "any-shot-abml": Setting(1, 80_000, 1e-3, None),
}


@pytest.mark.parametrize("name", OF_OTHERS)
def test_a_row_of_the_any_shot_table_that_others_reported_has_their_setting(name):
    """Lee et al. 2020: one task a step, no weighting, the birds as a second test set. Of MT-net and
    ABML the settings that their own papers state."""
    recipe = read_recipe(name)
    assert recipe.weighter == Component("uniform")
    adapts = "adaptation_steps" in recipe.learner.options  # what Lee et al. clip
    expected = OF_THE_METHOD.get(name, Setting(1, 80_000, 1e-4, 3.0 if adapts else None))
    assert recipe.training.meta_batch_size == expected.tasks
    assert recipe.training.steps == expected.steps
    assert recipe.optimizer.options["meta_lr"] == expected.meta_lr
    assert recipe.optimizer.options.get("clip_value") == expected.clip_value
    assert (recipe.episodes.shots, recipe.episodes.query) == ("any", 15)
    assert (recipe.test.tasks, recipe.test.also) == (3000, ["cub"])
    options = recipe.learner.options
    if adapts:
        assert options["adaptation_steps"] == 5
        assert options.get("test_steps") == (None if name in OF_THE_METHOD else 10)
        assert options["first_order"] is False
    assert "Lee et al. (2020)" in recipe.about
    assert "chosen here:" in recipe.about
    assert f"{recipe.training.steps:,} steps" in recipe.about


def test_every_row_of_the_any_shot_table_has_a_recipe():
    rows = [*paper.ANY_SHOT, *(row.recipe for row in paper.ANY_SHOT_OTHERS)]
    assert len(rows) == 9
    assert set(rows) <= set(shipped_recipes())
