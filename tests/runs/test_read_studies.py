"""Which runs belong together, under which labels, and what is missing of them."""

import shutil

import pytest

from tests.reports import synthetic
from towpath.recipes.typed import RecipeError
from towpath.runs.read_studies import read_studies, same_setting


@pytest.fixture
def comparison(tmp_path):
    weighters, seeds = ("tow", "uniform"), (0, 1)
    return synthetic.write_comparison(tmp_path / "c", 6, weighters=weighters, seeds=seeds)


def test_a_comparison_is_a_study_in_the_order_asked_for(comparison):
    (study,) = read_studies([comparison, comparison])
    assert study.labels == ["tow", "uniform"]
    assert study.baseline == "uniform"
    assert [run.seed for run in study.seeds("tow")] == [0, 1]
    assert [study.colour(label) for label in study.labels] == [0, 1]
    assert study.missing == []
    assert study.has_wrong_labels
    assert not study.synthetic


def test_runs_that_were_not_begun_or_are_others_are_missing(comparison):
    shutil.rmtree(comparison / "tow-seed1")
    shutil.rmtree(comparison / "tow-seed0")
    shutil.copytree(comparison / "uniform-seed0", comparison / "tow-seed0")
    (study,) = read_studies([comparison])
    assert study.runs["tow"] == []
    assert any("holds another run than its name says" in line for line in study.missing)
    assert "tow-seed1: not begun." in study.missing


def test_single_runs_of_one_setting_are_one_study_and_keep_their_folders_apart(tmp_path):
    recipe = synthetic.recipe()
    for name, weighter, seed in (("a", "tow", 0), ("b", "uniform", 0), ("c", "tow", 0)):
        synthetic.write_run(tmp_path / name, recipe, weighter, 6, seed=seed)
    synthetic.write_run(tmp_path / "d", synthetic.recipe(training={"steps": 9}), "tow", 6)
    one, other = read_studies([tmp_path])
    assert one.labels == ["uniform", "a", "c"]
    assert other.labels == ["tow"]
    assert one.name != other.name


def test_settings_are_the_same_but_for_weighter_and_seed():
    one = synthetic.recipe()
    assert same_setting(one, synthetic.recipe(seed=5, weighter={"name": "tow"}))
    assert not same_setting(one, synthetic.recipe(training={"steps": 7}))
    assert not same_setting(one, None)


def test_what_holds_no_run_is_refused(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(RecipeError, match="holds neither"):
        read_studies([tmp_path])
    with pytest.raises(RecipeError, match="is not a folder"):
        read_studies([tmp_path / "notes.txt"])
