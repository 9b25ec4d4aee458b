"""`--dry-run`: the recipe, the data, the cost; no folder."""

import json

import pytest
import yaml

from tests.refusal import refused
from towpath.cli.main import main


def files(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def test_a_run_is_described_and_nothing_is_written(here, capsys):
    before = files(here)
    assert main(["train", "tiny.yaml", "--dry-run", "--learner.name", "maml"]) == 0
    said = capsys.readouterr().out
    assert files(here) == before
    text, _, rest = said.partition("training: ")
    shown = yaml.safe_load(text)
    assert shown["training"]["steps"] == 4
    assert shown["learner"]["name"] == "maml"
    assert shown["learner"]["adaptation_steps"] == 5  # a default that the recipe does not write
    assert rest.startswith("glyphs (synthetic), train: ")
    assert "test on glyphs: glyphs (synthetic), test: " in rest
    assert "expected: " in rest
    assert "GiB" in rest
    assert "Nothing was written; the run would be in runs/tiny-uniform-seed0" in rest


@pytest.mark.parametrize(
    "command", [["train", "tiny.yaml"], ["compare", "tiny.yaml", "--weighters", "uniform"]]
)
def test_where_the_learner_draws_it_is_said_that_threads_save_no_time(here, capsys, command):
    sentence = "tasks are computed one after the other and threads: 2 saves no time"
    for learner in ("protonet", "mt-net"):
        words = ["--dry-run", "--learner.name", learner, "--threads", "2"]
        assert main([*command, *words]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert (sentence in said) == (learner == "mt-net")


def test_the_resolved_recipe_is_a_recipe(here, capsys):
    assert main(["train", "tiny.yaml", "--dry-run", "--json"]) == 0
    shown = capsys.readouterr().out
    found = json.loads(shown)
    (here / "resolved.yaml").write_text(yaml.safe_dump(found["recipe"]))
    assert main(["train", "resolved.yaml", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recipe"] == found["recipe"]
    assert found["folder"] == "runs/tiny-uniform-seed0"
    assert found["data"].keys() == {"training", "validation", "test on glyphs"}
    assert found["expected"]["seconds"] > 0
    assert found["expected"]["peak_bytes"] > 0


def test_a_comparison_says_the_time_of_every_weighter_and_of_all(here, capsys):
    before = files(here)
    words = ["compare", "tiny.yaml", "--weighters", "uniform,tow", "--seeds", "0,1", "--dry-run"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["weighters"]) == ["uniform", "tow"]
    total = 2 * sum(one["seconds"] for one in found["weighters"].values())
    assert found["expected"] == {"runs": 4, "seconds": pytest.approx(total)}
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "expected: " in said
    assert "for 4 runs" in said
    assert "Nothing was written; the comparison would be in runs/tiny-comparison" in said
    assert files(here) == before


COMMANDS = ["train", "compare --weighters uniform"]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_would_be_refused_is_refused_now(here, capsys, command):
    words = [*command.split(), "tiny.yaml", "--dry-run"]
    assert "shots and query need 51" in refused([*words, "--episodes.shots", "49"], capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_is_taken_is_only_told_of(here, capsys, command):
    (here / "taken").mkdir()
    (here / "taken" / "note.txt").write_text("mine")
    words = [*command.split(), "tiny.yaml", "--dry-run", "--out", "taken"]
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "It would be refused there: The folder taken exists and is not empty" in said
    assert main([*words, "--json"]) == 0
    assert "exists and is not empty" in json.loads(capsys.readouterr().out)["refused"]


def test_loggers_are_checked(here, capsys):
    words = ["train", "tiny.yaml", "--dry-run", "--logger"]
    said = refused([*words, "tensorbord"], capsys)
    assert "--logger is 'tensorbord'" in said
    assert "Did you mean 'tensorboard'?" in said
