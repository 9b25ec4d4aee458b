"""A run folder: made once, read as the types that were written, refused where it is another's."""

import json
from dataclasses import replace

import numpy as np
import pytest
import yaml

from tests.runs.test_summary import SUMMARY
from tests.training.runs import tiny
from towpath.data import TaskShape
from towpath.metrics import ACCURACY, LOSS
from towpath.recipes.typed import RecipeError
from towpath.runs.folder import CONFIG, EVALUATIONS, RunFolder, refuse_existing
from towpath.runs.folder import SUMMARY as SUMMARY_FILE
from towpath.runs.made_with import FORMAT, MadeWith
from towpath.runs.plain import json_digest
from towpath.runs.record_file import RecordWriter
from towpath.runs.records import SkippedWindow
from towpath.runs.scores import Score, scores_as_json
from towpath.runs.summary import SummaryIdentity

MADE = MadeWith(TaskShape((1, 28, 28), 2), "towpath train tiny", {"towpath": "0.2"})
SCORES = {"glyphs": Score({ACCURACY: np.array([0.5, 1.0]), LOSS: np.array([1.5, 0.25])})}


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "run", tiny(), MADE, {"data train": "abc"})


def summary_of(folder, **changes):
    identity = SummaryIdentity(folder.digest, json_digest(scores_as_json(SCORES)), 40)
    return replace(SUMMARY, identity=identity, **changes)


def test_the_configuration_comes_back_with_the_runs_identity(folder):
    recipe, made = folder.config()
    assert recipe == tiny()
    assert made.identity is not None
    assert made == replace(MADE, identity=made.identity)
    assert folder.digest == made.identity.digest
    assert yaml.safe_load((folder.path / CONFIG).read_text())["made_with"]["format"] == FORMAT
    assert "made_with" not in folder.plain_config()


def test_a_folder_that_holds_something_is_not_made_anew(folder):
    with pytest.raises(RecipeError, match="exists and is not empty"):
        RunFolder.create(folder.path, tiny(), MADE)


def test_results_come_back_and_finish_the_run(folder):
    assert (folder.summary(), folder.evaluations(), folder.finished) == (None, None, False)
    folder.conclude(summary_of(folder), SCORES)
    assert folder.summary() == summary_of(folder)
    found = folder.evaluations()
    assert found is not None
    assert found["glyphs"].values.tolist() == [0.5, 1.0]
    assert folder.finished
    (folder.path / EVALUATIONS).unlink()
    assert not folder.finished


def test_results_of_fewer_steps_than_are_asked_for_now_do_not_finish_it(folder):
    short = SummaryIdentity(folder.digest, "", 30)
    folder.conclude(replace(SUMMARY, identity=short), SCORES)
    assert not folder.finished


def test_results_of_another_run_are_refused(folder):
    folder.conclude(replace(SUMMARY, identity=SummaryIdentity("other", "", 40)), SCORES)
    with pytest.raises(RecipeError, match="is of another run"):
        folder.summary()


def test_one_changed_figure_of_the_results_is_noticed(folder):
    folder.conclude(summary_of(folder), SCORES)
    content = json.loads((folder.path / EVALUATIONS).read_text())
    content["glyphs"]["losses"][0] += 1e-12
    (folder.path / EVALUATIONS).write_text(json.dumps(content))
    with pytest.raises(RecipeError, match="is not what"):
        folder.evaluations()


@pytest.mark.parametrize("content", ["3", "{", "{}", '{"recipe": 3}'])
def test_a_damaged_summary_says_what_to_do(folder, content):
    (folder.path / SUMMARY_FILE).write_text(content)
    with pytest.raises(RecipeError, match="Delete it and run: towpath resume"):
        folder.summary()


def test_a_last_line_that_is_cut_off_is_no_record(folder):
    with RecordWriter(folder.records_path, 0) as writer:
        writer.write(SkippedWindow(1, 0))
    with folder.records_path.open("ab") as file:
        file.write(b'{"kind":"skip')
    assert list(folder.records()) == [SkippedWindow(1, 0)]


def test_only_one_process_holds_a_run(folder):
    with (
        folder.held(),
        pytest.raises(RecipeError, match="Another process is training"),
        folder.held(),
    ):
        pass


def test_a_refused_start_leaves_nothing_and_a_trained_run_stays(folder):
    folder.checkpoints.mkdir()
    (folder.checkpoints / "last.safetensors").touch()
    folder.remove_untrained()
    assert (folder.path / CONFIG).exists()
    (folder.checkpoints / "last.safetensors").unlink()
    folder.remove_untrained()
    assert not folder.path.exists()
    with pytest.raises(RecipeError, match="expected a run folder"):
        RunFolder.open(folder.path)


def test_a_file_in_the_place_of_a_new_folder_is_called_a_file(tmp_path):
    (tmp_path / "assays.csv").write_text("mine")
    with pytest.raises(RecipeError, match=r"assays.csv is a file; expected the path of a new"):
        refuse_existing(tmp_path / "assays.csv")
