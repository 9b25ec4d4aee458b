"""The paper's tables are filled by the paper's recipes only; what differs is shown as that."""

import json

import numpy as np
import pytest
import yaml

from tests.reports import synthetic
from tests.reports.test_page import build, row_of
from towpath.recipes import shipped_recipes
from towpath.recipes.reading import read_recipe
from towpath.reports import reruns
from towpath.runs.comparison_spec import SPEC, run_name

MISUSED = [
    ("learner.name", "meta-sgd"),
    ("learner.adaptation_steps", "1"),
    ("training.steps", "5"),
    ("training.meta_batch_size", "2"),
    ("test.tasks", "4"),
]


def write(path, recipe, weighters, *, tasks=None, **options):
    """Finished runs of a recipe, one a weighter; returns their mean accuracies in per cent."""
    means = {}
    for weighter in weighters:
        count = recipe.test.tasks if tasks is None else tasks
        synthetic.write_run(path / weighter, recipe, weighter, 20, tasks=count, **options)
        scores = json.loads((path / weighter / "evaluations.json").read_text())
        means[weighter] = 100 * np.mean(scores[recipe.data.name]["accuracies"])
    return means


def rows_under(page, setting):
    """The rows of the first table from the one with this head to the next head."""
    start = next(i for i, row in enumerate(page.rows) if row[:1] == [setting])
    rest = page.rows[start + 1 :]
    end = next((i for i, row in enumerate(rest) if row and row[0]), len(rest))
    return [page.rows[start], *rest[:end]]


def test_a_run_of_the_recipe_fills_its_row(tmp_path):
    recipe = read_recipe("omniglot-maml", [("threads", "1"), ("device", "cpu"), ("seed", "0")])
    means = write(tmp_path / "runs", recipe, ("uniform", "tow-faithful", "tow"), validate=5)
    page, text, _ = build([tmp_path / "runs"], tmp_path / "paper.html", of_paper=True)
    rows = {row[1]: row for row in rows_under(page, "Omniglot, MAML")}
    assert rows["TOW (tow-faithful)"][2] == "95.94 ±0.40"
    assert float(rows["TOW (tow-faithful)"][3].split()[0]) == pytest.approx(
        means["tow-faithful"], abs=0.0051
    )
    assert rows["tow (ours)"][2] == "–"
    assert float(rows["tow (ours)"][3].split()[0]) == pytest.approx(means["tow"], abs=0.0051)
    assert rows["exploration"][3] == "not run"
    assert not any(row[4] for row in rows.values())
    assert "changed" not in [row[0] for row in page.rows]
    assert "omniglot-maml-curve-steps" in page.svgs
    assert "3 of 7 parts were run by the paper" in text
    page, text, _ = build([tmp_path / "runs"], tmp_path / "report.html")
    assert row_of(page, "tow-faithful")[-1] == "95.94 ±0.40"
    assert row_of(page, "tow")[-1] == "–"
    assert "7.50" in text
    assert "reruns Table 1" in text


def test_a_run_that_only_bears_the_recipes_name_is_shown_as_what_it_is(tmp_path):
    """Meta-SGD, one inner step, 5 steps, M = 2 and 4 test tasks were printed as the paper's row."""
    recipe = read_recipe("omniglot-maml", MISUSED)
    means = write(tmp_path / "runs", recipe, ("uniform", "tow-faithful"), validate=5)
    page, text, missing = build([tmp_path / "runs"], tmp_path / "paper.html", of_paper=True)
    rows = {row[1]: row for row in rows_under(page, "Omniglot, MAML")}
    assert {row[3] for row in rows.values()} == {"not run"}
    changed = row_of(page, "Omniglot, MAML, changed", "uniform")
    assert changed[2] == "–"
    assert float(changed[3].split()[0]) == pytest.approx(means["uniform"], abs=0.0051)
    for words in (
        "learner.name meta-sgd instead of maml",
        "learner.adaptation_steps 1 instead of 5",
        "training.steps 5 instead of 25,000",
        "training.meta_batch_size 2 instead of 10",
        "test.tasks 4 instead of 1,000",
    ):
        assert words in changed[4]
        assert any(words in line for line in missing)
    assert "0 of 7 parts were run by the paper" in text
    assert "Not run as described: omniglot-maml" in text
    page, text, _ = build([tmp_path / "runs"], tmp_path / "report.html")
    assert "in the paper" not in [cell for row in page.rows for cell in row]
    assert "Not the paper&#39;s setting" in text
    assert "reruns Table 1" not in text


def test_a_weighter_with_other_options_is_not_the_papers(tmp_path):
    recipe = read_recipe("omniglot-maml")
    write(tmp_path / "runs", recipe, ("tow-faithful",), weights={"beta": 1.0}, validate=5)
    write(tmp_path / "runs", recipe, ("exploration", "tow-auto"), validate=5)
    page, _, _ = build([tmp_path / "runs"], tmp_path / "paper.html", of_paper=True)
    rows = [row for row in page.rows if len(row) == 5]
    assert next(row[3] for row in rows if row[1] == "TOW (tow-faithful)") == "not run"
    mine = next(row for row in rows if row[1] == "tow-faithful")
    assert mine[4] == "weighter.beta 1.0 instead of 10.0"
    assert next(row for row in rows if row[1] == "exploration")[3][0].isdigit()
    other = next(row for row in rows if row[1] == "tow-auto")
    assert other[4] == "not a weighter of the paper"


def test_what_a_finished_run_really_did_counts(tmp_path):
    """A recipe may promise more than its run's folder holds."""
    recipe = read_recipe("omniglot-maml")
    write(tmp_path / "runs", recipe, ("uniform",), tasks=40, validate=5)
    summary = tmp_path / "runs" / "uniform" / "summary.json"
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"steps": 100}))
    page, _, _ = build([tmp_path / "runs"], tmp_path / "paper.html", of_paper=True)
    words = row_of(page, "Omniglot, MAML, changed", "uniform")[4]
    assert "trained steps 100 instead of 25,000" in words
    assert "tested tasks 40 instead of 1,000" in words


def test_studies_of_one_setting_are_joined_and_the_others_stand_apart(tmp_path):
    def comparison(name, weighters, *overrides):
        base = read_recipe("omniglot-maml", overrides)
        (tmp_path / name).mkdir()
        asked = {"recipe": base.as_mapping(), "weighters": list(weighters), "seeds": [0]}
        (tmp_path / name / SPEC).write_text(yaml.safe_dump(asked))
        for weighter in weighters:
            folder = tmp_path / name / run_name(weighter, 0)
            synthetic.write_run(folder, base, weighter, 20, tasks=1000, validate=5)
        return tmp_path / name

    one = comparison("one", ("uniform", "tow-faithful"))
    two = comparison("two", ("exploration",))
    three = comparison("three", ("exploitation",), ("optimizer", "{name: sgd}"))
    page, _, _ = build([one, two, three], tmp_path / "paper.html", of_paper=True)
    rows = {row[1]: row for row in rows_under(page, "Omniglot, MAML")}
    assert rows["TOW (tow-faithful)"][3][0].isdigit()
    assert rows["exploration"][3][0].isdigit()
    assert rows["exploitation"][3] == "not run"
    changed = row_of(page, "Omniglot, MAML, changed", "exploitation")
    assert "optimizer.name sgd instead of adam" in changed[4]
    assert len(page.ids) == len(set(page.ids))


def test_a_row_that_others_reported_is_filled_by_its_recipe_and_a_shorter_run_stands_beside(
    tmp_path, monkeypatch
):
    page, _, _ = build_any_shot(tmp_path / "own", read_recipe("any-shot-meta-sgd"))
    row = row_of(page, "Meta-SGD")
    assert row[2] == "69.95 ±0.20"
    assert row[3][0].isdigit()
    assert row[5][0].isdigit()
    short = read_recipe("any-shot-meta-sgd", [("episodes.shots", "any-10")])
    page, _, _ = build_any_shot(tmp_path / "short", short)
    assert row_of(page, "Meta-SGD")[3] == "not run"
    changed = row_of(page, "Meta-SGD, changed")
    assert changed[2] == "–"
    assert changed[3][0].isdigit()
    assert "episodes.shots any-10 instead of any" in changed[6]
    others = {k: v for k, v in shipped_recipes().items() if k != "any-shot-meta-sgd"}
    monkeypatch.setattr(reruns, "shipped_recipes", lambda: others)
    reruns.paper_recipe.cache_clear()
    try:
        page, _, _ = build_any_shot(tmp_path / "none", read_recipe("any-shot-maml"))
    finally:
        reruns.paper_recipe.cache_clear()
    assert row_of(page, "Meta-SGD")[3] == "no recipe"


def test_the_any_shot_rows_that_the_paper_ran_are_filled_by_its_own_setting(tmp_path):
    recipe = read_recipe("any-shot-maml")
    write(tmp_path / "runs", recipe, ("uniform", "tow-faithful"), validate=5)
    page, _, _ = build([tmp_path / "runs"], tmp_path / "paper.html", of_paper=True)
    rows = {row[1]: row for row in rows_under(page, "MAML, weighted")}
    assert rows["TOW (tow-faithful)"][2] == "70.02 ±0.24"
    assert rows["TOW (tow-faithful)"][3][0].isdigit()
    assert rows["uniform"][2] == "–"  # the plain row is that of others, in their setting
    assert row_of(page, "MAML")[2] == "66.64 ±0.22"
    assert row_of(page, "MAML")[3] == "not run"


def build_any_shot(path, recipe):
    write(path / "runs", recipe, ("uniform",), validate=5)
    return build([path / "runs"], path / "paper.html", of_paper=True)


def test_every_weighter_that_plans_towards_targets_is_told_to_be_outside_the_theorem(tmp_path):
    recipe = synthetic.recipe()
    for weighter in ("uniform", "tow-targets", "tow-targets-fast"):
        synthetic.write_run(tmp_path / "runs" / weighter, recipe, weighter, 20, validate=5)
    _, text, _ = build([tmp_path / "runs"], tmp_path / "report.html")
    start = text.index("tow-targets, tow-targets-fast: outside the theorem")
    assert "planned for trusted tasks" in text[start : start + 400]
