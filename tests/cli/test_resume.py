"""`towpath resume` of a single run."""

from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import SHORT
from tests.refusal import refused
from tests.training.runs import TINY, outcome
from towpath.cli.main import main


def test_a_finished_run_is_left_as_it_is(done, capsys):
    before = (done / "summary.json").read_bytes()
    assert main(["resume", str(done)]) == 0
    assert "is finished already" in capsys.readouterr().out
    assert (done / "summary.json").read_bytes() == before


def test_a_single_run_has_no_use_for_jobs(done, capsys):
    said = refused(["resume", str(done), "--jobs", "2"], capsys)
    assert "expected a comparison, which has several" in said


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_can_be_trained_for_more_steps(tmp_path, capsys, finished):
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump({**TINY, **SHORT}))
    words = ["train", str(tmp_path / "tiny.yaml"), "--validation.every", "2", "--out"]
    assert main([*words, str(tmp_path / "run")]) == 0
    if not finished:  # as if it had been killed during its test
        (tmp_path / "run" / "summary.json").unlink()
        (tmp_path / "run" / "evaluations.json").unlink()
    assert main(["resume", str(tmp_path / "run"), "--training.steps", "8"]) == 0
    assert "step 8/8" in capsys.readouterr().out
    assert main([*words, str(tmp_path / "whole"), "--training.steps", "8"]) == 0
    whole, more = outcome(tmp_path / "whole"), outcome(tmp_path / "run")
    for part in ("tensors", "records", "evaluations"):
        assert more[part] == whole[part]
    config = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert config["training"]["steps"] == 8
    assert main(["resume", str(tmp_path / "run"), "--training.steps", "8"]) == 0
    assert "is finished already" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--training.steps", "2"], "says training.steps 4; found 2, and it may only be raised"),
        (["--training.steps", "many"], "--training.steps is 'many'; expected a whole number"),
        (["--training.steps", "1000000000"], "training.steps"),
        (["--training.step", "8"], "Did you mean 'training.steps'?"),
        (["--weighter.beta", "8"], "expected nothing of the recipe but --training.steps"),
    ],
)
def test_nothing_else_of_a_run_may_change(done, capsys, words, told):
    before = (done / "config.yaml").read_bytes()
    assert told in refused(["resume", str(done), *words], capsys)
    assert (done / "config.yaml").read_bytes() == before


def test_a_run_that_stopped_early_says_how_to_train_for_longer(here, capsys):
    stop = ["--training.steps", "40", "--validation.every", "2", "--validation.patience", "1"]
    assert main(["train", "tiny.yaml", "--out", "run", *stop]) == 0
    capsys.readouterr()
    before, run = outcome(Path("run")), Path("run/config.yaml").read_bytes()
    said = refused(["resume", "run", "--training.steps", "42"], capsys)
    assert "stopped early, at step" in said
    assert Path("run/config.yaml").read_bytes() == run
    command = said.partition("towpath ")[2].replace("NEW", "longer").split()
    assert main(command) == 0
    assert "step 42/42" in capsys.readouterr().out
    steps = len(before["records"])
    assert outcome(Path("longer"))["records"][:steps] == before["records"]
    assert main(["resume", "run"]) == 0
    assert "is finished already" in capsys.readouterr().out


def test_the_runs_of_a_comparison_keep_their_steps(here, capsys):
    assert main(["compare", "tiny.yaml", "--weighters", "uniform,random", "--out", "both"]) == 0
    capsys.readouterr()
    said = refused(["resume", "both", "--training.steps", "8"], capsys)
    assert "expected a single run" in said
