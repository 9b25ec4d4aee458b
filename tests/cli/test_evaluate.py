"""`towpath evaluate`: a table of the test sets."""

import csv
import json

import pytest

from tests.refusal import refused
from towpath.cli.main import main


def test_every_test_set_has_a_row_with_the_number_of_tasks(done, capsys):
    assert main(["evaluate", str(done), "--tasks", "3"]) == 0
    said = capsys.readouterr().out
    row = next(line for line in said.splitlines() if "│ glyphs" in line)
    assert "%" in row
    assert row.split("│")[-2].strip() == "3"
    assert "normalisation: " in said


def test_the_metrics_of_two_classes_stand_below_the_accuracy(done, capsys):
    assert main(["evaluate", str(done), "--tasks", "3"]) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│ glyphs" in line]
    results = [row[2].strip() for row in rows]
    assert [text.rsplit(" ", 2)[0] for text in results] == [
        "accuracy",
        "ROC AUC",
        "average precision",
        "loss",
    ]
    assert "%" in results[0]
    assert not any("%" in cell for row in rows[1:] for cell in row)


def test_classes_are_named_and_written_as_a_csv_file(done, tmp_path, capsys):
    path = tmp_path / "classes.csv"
    assert main(["evaluate", str(done), "--tasks", "6", "--classes", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    lines = list(csv.DictReader(path.read_text().splitlines()))
    own = {
        line["class"]: float(line["share"]) for line in lines if line["class"] == line["taken for"]
    }
    hardest = min(own, key=lambda name: (own[name], name))
    assert f"hardest classes of glyphs: {hardest} {100 * own[hardest]:.0f}%" in said
    assert all(int(line["taken"]) <= int(line["samples"]) for line in lines)
    again = ["evaluate", str(done), "--tasks", "6", "--classes", str(path)]
    assert "Choose another --classes, or replace it with --force" in refused(again, capsys)


def test_an_interval_needs_two_tasks(done, capsys):
    assert "--tasks is 1; expected at least 2" in refused(
        ["evaluate", str(done), "--tasks", "1"], capsys
    )


def test_a_run_can_be_tested_on_tasks_of_another_shape(done, capsys):
    words = ["evaluate", str(done), "--tasks", "3", "--json"]
    assert main(words) == 0
    usual = json.loads(capsys.readouterr().out)
    assert main([*words, "--episodes.shots", "3", "--episodes.ways", "4"]) == 0
    other = json.loads(capsys.readouterr().out)
    # the labels of test tasks are right, whatever those of training were
    assert usual["episodes"] == {"ways": 2, "shots": 1, "query": 2, "within_group": True}
    assert (other["episodes"]["shots"], other["episodes"]["ways"]) == (3, 4)
    assert other["test"]["glyphs"]["loss"] != usual["test"]["glyphs"]["loss"]
    assert main(["evaluate", str(done), "--tasks", "3", "--episodes.shots", "3"]) == 0
    assert "episodes.shots 3" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["episodes.label_noise", "training.steps", "shots"])
def test_what_test_tasks_do_not_have_is_refused(done, capsys, option):
    said = refused(["evaluate", str(done), f"--{option}", "1"], capsys)
    assert f"found --{option}; expected one of --episodes.ways, --episodes.shots" in said


def test_a_head_of_two_outputs_takes_no_third_class(here, capsys):
    assert main(["train", "tiny.yaml", "--learner.name", "maml", "--out", "run"]) == 0
    capsys.readouterr()
    said = refused(["evaluate", "run", "--tasks", "2", "--episodes.ways", "3"], capsys)
    assert "the head of the network was trained for 2 classes; expected 2" in said
    assert "of other ways: bayesian-taml, proto-maml, protonet, ridge." in said
    assert main(["evaluate", "run", "--tasks", "2", "--episodes.shots", "2"]) == 0


@pytest.mark.parametrize("learner", ["bayesian-taml", "ridge"])
def test_learners_without_a_head_of_their_own_take_a_third_class(here, capsys, learner):
    assert main(["train", "tiny.yaml", "--learner.name", learner, "--out", "run"]) == 0
    assert main(["evaluate", "run", "--tasks", "2", "--episodes.ways", "3"]) == 0
    assert "episodes.ways 3" in capsys.readouterr().out
