"""Runs on a table: trained, resumed and evaluated as those on images, with what a table needs."""

import json
import math

import numpy as np
import pytest
import torch

from tests.training.runs import Killed, Silent, Stopping, outcome, records, run
from tests.training.tables import COMMON, FEATURES, MAML, activity, assays, compounds, write_assays
from towpath.cli.main import main
from towpath.data import Episode, load_table
from towpath.data.trusted import FixedTrusted
from towpath.recipes.paths import with_lasting_paths
from towpath.recipes.typed import RecipeError
from towpath.training import Recipe, load, resume, train
from towpath.training.setup import Setup, prepare


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_assays(tmp_path_factory.mktemp("table") / "assays.csv")


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    return write_assays(tmp_path_factory.mktemp("table") / "numbers.csv", numbers=True)


@pytest.mark.parametrize("weighter", ["uniform", "tow-targets", "tow"])
def test_a_stopped_run_on_a_table_ends_equal(tmp_path, table, weighter):
    recipe = assays(table, weighter, trusted={"count": 3})
    whole = run(tmp_path / "whole", recipe)
    with pytest.raises(Killed):
        train(tmp_path / "stopped", recipe, Stopping(6, Killed))
    resume(tmp_path / "stopped", Silent())
    assert outcome(tmp_path / "stopped") == outcome(whole)


def test_the_records_name_the_task_and_not_its_rows(tmp_path, table):
    lines = records(run(tmp_path / "run", assays(table)))
    tasks = [task for line in lines if line["kind"] == "step" for task in line["tasks"]]
    assert len(tasks) == 24
    for task in tasks:
        assert task["classes"] == [task["task"]]
        assert task["task"].startswith(f"{task['group']}_")
        assert task["labels"] == ["0", "1"]
        assert "rows" not in task


@pytest.mark.parametrize(
    ("weighter", "told"),
    [
        ("above-chance", True),
        ("race", True),
        ("evidence", False),
    ],
)
def test_a_rule_by_accuracies_says_that_it_does_nothing_in_regression(
    table, numbers, weighter, told
):
    def notes(setup):
        return [note for note in setup.notes if "'above-chance' decides by accuracies" in note]

    def made(path, **sections):
        rules = {"rules": ["evidence", "above-chance"]} if weighter == "race" else {}
        recipe = assays(path, **sections).as_mapping()
        return prepare(Recipe.of({**recipe, "weighter": {"name": weighter, **rules}}))

    assert bool(notes(made(numbers, **MAML))) == told
    assert not notes(made(table))


def test_regression_trains_with_squared_error(tmp_path, numbers):
    folder = run(tmp_path / "run", assays(numbers, **MAML))
    summary = json.loads((folder / "summary.json").read_text())
    (score,) = summary["test"].values()
    assert math.isfinite(score["mean"])
    steps = [line for line in records(folder) if line["kind"] == "step"]
    assert not any("accuracy" in line for line in steps)
    trained = load(folder)
    assert trained.learner.loss.name == "mse"
    assert (trained.shape.inputs, trained.shape.outputs) == ((4,), 1)


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({}, "learner.name is 'protonet', which predicts classes.*maml"),
        ({"learner": {"name": "proto-maml"}}, "'proto-maml', which predicts classes"),
        (
            {"learner": {"name": "maml", "loss": "cross_entropy"}},
            "learner.loss is 'cross_entropy'.*expected 'mse'",
        ),
        ({**MAML, "backbone": {"name": "conv4"}}, "backbone.name is 'conv4', which takes images"),
    ],
)
def test_parts_that_cannot_take_numbers_are_refused_in_a_sentence(numbers, sections, expected):
    with pytest.raises(RecipeError, match=expected):
        prepare(assays(numbers, **sections))


@pytest.mark.parametrize("learner", ["maml", "anil", "meta-sgd"])
def test_learners_of_regression_take_the_loss_from_the_data(numbers, learner):
    setup = prepare(assays(numbers, learner={"name": learner, "adaptation_steps": 1}))
    assert setup.learner.loss.name == "mse"
    assert setup.shape.is_regression


def fixed(setup: Setup) -> list[Episode]:
    """The trusted tasks, which were drawn once."""
    assert isinstance(setup.trusted, FixedTrusted)
    return list(setup.trusted)


def test_trusted_tasks_come_from_the_trusted_split_of_the_table(table):
    listed = {"test": ["TOX_0", "TOX_1"], "trusted": ["TOX_2"], "validation": ["ENZ_0"]}
    setup = prepare(assays(table, data={"splits": listed}, trusted={"count": 4}))
    trusted = fixed(setup)
    assert {task.info["task"] for task in trusted} == {"TOX_2"}
    assert all(task.info["trusted"] for task in trusted)
    drawn = {setup.windows.sampler.episode(i).info["task"] for i in range(60)}
    assert not drawn & {"TOX_0", "TOX_1", "TOX_2", "ENZ_0"}
    assert {task.info["task"] for task in setup.test_tasks("assays.csv", 20)} == {"TOX_0", "TOX_1"}
    assert set(setup.contents) == {"data train", "data validation", "data test", "data trusted"}


def test_a_table_of_checked_results_may_be_trusted(tmp_path, table):
    checked = write_assays(tmp_path / "checked.csv", seed=7)
    setup = prepare(assays(table, trusted={"count": 4, "data": str(checked)}))
    trusted = fixed(setup)
    assert {task.info["set"] for task in trusted} == {"checked"}
    first = trusted[0]
    # standardised by the training table, not by itself
    own = setup.table
    assert own is not None
    rows = own.rows(checked).inputs
    assert any(torch.equal(first.support_x[0], torch.from_numpy(row)) for row in rows)


def test_a_second_table_with_other_features_is_refused(tmp_path, table):
    other = write_assays(tmp_path / "other.csv")
    other.write_text(other.read_text().replace("logp", "logd"))
    recipe = assays(table, test={"tasks": 2, "also": [str(other)]})
    with pytest.raises(ValueError, match="logp"):
        prepare(recipe)


def test_what_predictions_need_is_kept_in_the_run_folder(tmp_path, table, numbers):
    folder = run(tmp_path / "run", assays(table))
    trained = load(folder)
    assert trained.table is not None
    assert trained.table.feature_names == tuple(FEATURES)
    assert trained.table.classes == ("0", "1")
    new = compounds(5, seed=3)
    pool = load_table(table, features=FEATURES, id="compound", splits={"by": "task"})
    assert pool.scaling is not None
    expected = pool.scaling.apply(new.astype(np.float32))
    np.testing.assert_array_equal(trained.table.scaling.apply(new.astype(np.float32)), expected)
    file = folder / "table.json"
    content = file.read_text()
    file.write_text(content.replace('"rings"', '"wings"'))
    with pytest.raises(RecipeError, match=r"table\.json cannot be used"):
        load(folder)
    file.unlink()
    with pytest.raises(RecipeError, match=r"table\.json"):
        load(folder)


def test_training_on_some_assays_helps_on_others(tmp_path, table):
    """The right answer is known: the assays share a direction."""
    training = {"steps": 60, "horizon": 5, "meta_batch_size": 6}
    folder = run(tmp_path / "run", assays(table, training=training, test={"tasks": 60}))
    trained = load(folder)
    assert trained.table is not None
    support, query = compounds(16, seed=11), compounds(200, seed=12)
    right = activity(query, COMMON) > 0
    inputs = [
        torch.from_numpy(trained.table.scaling.apply(rows.astype(np.float32)))
        for rows in (support, query)
    ]
    labels = torch.from_numpy((activity(support, COMMON) > 0).astype(np.int64))
    assert 5 <= labels.sum() <= 11
    found = trained.adapt(inputs[0], labels).predict(inputs[1]).argmax(1).numpy()
    assert (found == right).mean() > 0.85


def test_probes_of_a_table_have_tasks_of_different_groups(table):
    probe = {"name": "apart", "distinct_groups": True, "horizon": 2, "meta_batch_size": 3}
    setup = prepare(assays(table, probes=[probe]))
    for batch in setup.probes[0].window:
        assert {task.info["group"] for task in batch} == {"ENZ", "REC", "TOX"}


def test_how_little_many_trusted_tasks_come_from_is_told(table):
    listed = {"validation": ["ENZ_5"], "test": ["TOX_4", "TOX_5"], "trusted": ["TOX_0", "TOX_1"]}
    pool = load_table(table, "trusted", splits=listed, features=FEATURES, id="compound")
    most = prepare(assays(table, data={"splits": listed}, trusted={"count": 400}))
    rows = f"{pool.target_count} rows of 2 trusted tasks of the table"
    assert f"The 400 trusted tasks are drawn from {rows}" in most.notes
    without = prepare(assays(table, data={"splits": listed})).notes
    assert not any("trusted tasks are drawn" in note for note in without)


def test_training_tasks_that_stand_in_for_trusted_ones_are_not_called_trusted(table):
    listed = {"validation": ["ENZ_5"], "test": ["TOX_4", "TOX_5"]}
    notes = prepare(assays(table, data={"splits": listed}, trusted={"count": 400})).notes
    (note,) = [each for each in notes if "The 400 trusted tasks" in each]
    assert " rows of 15 training tasks of the table, which names no tasks as trusted" in note
    assert "data.splits.trusted" in note


@pytest.mark.parametrize(
    "section", [{"data": {"mix": {"glyphs": 0.5}}}, {"test": {"also": ["glyphs"]}}]
)
def test_rows_and_images_are_not_used_together(table, section):
    with pytest.raises(RecipeError, match="'glyphs', which is images, and assays is a table"):
        prepare(assays(table, **section))


def test_a_run_whose_table_was_moved_says_how_to_go_on(tmp_path, capsys):
    table = write_assays(tmp_path / "assays.csv")
    recipe = with_lasting_paths(assays(table))
    with pytest.raises(Killed):
        train(tmp_path / "run", recipe, Stopping(6, Killed))
    (tmp_path / "moved").mkdir()
    table.rename(tmp_path / "moved" / "assays.csv")
    with pytest.raises(RecipeError, match=r"Put them back, or change data\.name"):
        resume(tmp_path / "run", Silent())
    # and that is how: the content is compared, not the place
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace(str(table), str(tmp_path / "moved/assays.csv")))
    resume(tmp_path / "run", Silent())
    (tmp_path / "moved" / "assays.csv").unlink()
    for command in ("evaluate", "audit"):
        assert main([command, str(tmp_path / "run")]) == (2 if command == "evaluate" else 0)
        said = capsys.readouterr()
        assert "Put them back, or change data.name" in " ".join((said.out + said.err).split())
