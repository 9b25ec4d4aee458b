"""A comparison's files: what was asked comes back, and what came out does so to the last figure."""

import json
from dataclasses import replace

import pytest

from tests.reports import synthetic
from towpath.recipes.typed import RecipeError
from towpath.runs.comparison import (
    ASKED,
    RESULT,
    Contestant,
    asked_for,
    check_place,
    compared,
    is_comparison,
    label_of,
    read_comparison,
    run_names,
    write_asked,
    write_comparison,
)
from towpath.runs.folder import RunFolder
from towpath.runs.scores import SeedDifferences


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("comparison") / "both"
    return synthetic.write_comparison(path, 6, weighters=("uniform", "tow"), seeds=(0, 3))


def test_what_was_asked_comes_back(tmp_path):
    recipe = synthetic.recipe(seed=9)
    assert not is_comparison(tmp_path)
    write_asked(tmp_path, recipe, ["uniform", "tow:beta=1.0"], [0, 4])
    assert is_comparison(tmp_path)
    found, contestants, seeds = asked_for(tmp_path)
    assert found == recipe
    assert contestants[1] == Contestant("tow_beta=1.0", {"name": "tow", "beta": 1.0})
    assert seeds == [0, 4]
    assert run_names(tmp_path)[-1] == f"{label_of('tow:beta=1.0')}-seed4"


@pytest.mark.parametrize("content", ["3", "recipe: 3", "recipe: {}\nweighters: tow\nseeds: [0]"])
def test_what_was_never_asked_is_refused(tmp_path, content):
    (tmp_path / ASKED).write_text(content)
    with pytest.raises(RecipeError):
        asked_for(tmp_path)


def test_what_came_out_comes_back_from_its_file(finished):
    result = compared(finished)
    write_comparison(finished, result)
    assert read_comparison(finished) == result
    (finished / RESULT).write_text("{}")
    with pytest.raises(RecipeError, match=r"comparison\.json is not readable"):
        read_comparison(finished)


def test_the_finished_runs_are_compared_with_the_baseline(finished):
    result = compared(finished)
    assert (result.baseline, result.tests) == ("uniform", ["omniglot"])
    assert [run.folder for run in result.of("tow")] == ["tow-seed0", "tow-seed3"]
    assert [run.overhead for run in result.runs] == [1.0] * 4
    scores = {
        label: {s: RunFolder(finished / f"{label}-seed{s}").evaluations() or {} for s in (0, 3)}
        for label in ("uniform", "tow")
    }
    expected = SeedDifferences.between(
        *({s: own["omniglot"] for s, own in scores[label].items()} for label in ("tow", "uniform"))
    )
    assert result.differences == {"tow": {"omniglot": expected}}


def test_a_run_keeps_its_summary_and_says_its_overhead_under_the_clock(finished):
    run = compared(finished).runs[2]
    content = json.loads(json.dumps(run.as_json()))
    assert content["timing"].pop("overhead") == 1.0
    summary = json.loads((finished / run.folder / "summary.json").read_text())
    assert content == {"label": "tow", "folder": "tow-seed0", **summary}
    assert replace(run, overhead=None).as_json()["timing"] == summary["timing"]


def test_a_run_under_another_name_is_refused(finished):
    _, contestants, _ = asked_for(finished)
    check_place(finished, contestants[1], 3)
    other = replace(contestants[1], label="uniform")
    with pytest.raises(RecipeError, match="holds another run than its name says"):
        check_place(finished, other, 3)
