"""`towpath train`: the files of a run, the same run again, classes of the user's own."""

import json
from pathlib import Path

import pytest
import yaml

from tests.training.runs import outcome
from towpath.cli.main import main


def test_train_writes_the_files_of_a_run_folder(here):
    assert main(["train", "tiny.yaml", "--out", "run", "--seed", "3", "--device", "cpu"]) == 0
    names = {p.name for p in Path("run").iterdir()}
    assert names == {
        "config.yaml",
        "records.jsonl",
        "checkpoints",
        "summary.json",
        "evaluations.json",
        "confusion.json",
    }
    config = yaml.safe_load(Path("run/config.yaml").read_text())
    assert (config["seed"], config["device"], config["weighter"]["name"]) == (3, "cpu", "uniform")
    assert config["made_with"]["command"].startswith("towpath train tiny.yaml")
    summary = json.loads(Path("run/summary.json").read_text())
    assert summary["seed"] == 3
    assert summary["interval"] >= 0
    assert set(summary["versions"]) == {"towpath", "torch", "python"}


def test_early_stopping_says_so_and_the_best_validation_is_printed(here, capsys):
    overrides = ["--training.steps", "40", "--validation.every", "2", "--validation.patience", "1"]
    assert main(["train", "tiny.yaml", "--out", "run", *overrides]) == 0
    text = capsys.readouterr().out
    summary = json.loads(Path("run/summary.json").read_text())
    steps, best = summary["steps"], summary["validation"]
    # three tasks have too few levels of accuracy for twenty new bests
    assert steps < 40
    assert f"stopped early, at step {steps} of 40: no new best in the last 1 validations" in text
    assert f"step {best['step']} (best validation, {100 * best['score']:.1f}%)" in text


def test_a_run_to_its_end_does_not_speak_of_stopping(here, capsys):
    assert main(["train", "tiny.yaml", "--out", "run"]) == 0
    assert "stopped early" not in capsys.readouterr().out


def test_a_run_repeats_from_its_own_configuration(here):
    assert main(["train", "tiny.yaml", "--out", "first", "--weighter.name", "tow"]) == 0
    config = yaml.safe_load(Path("first/config.yaml").read_text())
    config.pop("made_with")
    Path("again.yaml").write_text(yaml.safe_dump(config))
    assert main(["train", "again.yaml", "--out", "second"]) == 0
    assert outcome(Path("first")) == outcome(Path("second"))


MINE = """
from dataclasses import dataclass

from towpath import MiniBatchWeighter


@dataclass(frozen=True)
class First(MiniBatchWeighter):
    share: float = 0.7

    def weights(self, batch, state):
        rest = (1 - self.share) / (len(batch) - 1)
        weights = [self.share] + [rest] * (len(batch) - 1)
        return batch.losses.new_tensor(weights), {"seen": state.get("seen", 0) + 1}
"""


def test_a_weighter_with_the_signature_of_before_is_refused_with_the_new_one(
    here, monkeypatch, capsys
):
    old = MINE.replace("self, batch, state", "self, losses, gradients, infos, state")
    (here / "my_old_weights.py").write_text(old)
    monkeypatch.syspath_prepend(str(here))
    words = ["train", "tiny.yaml", "--weighter.name", "my_old_weights:First"]
    assert main([*words, "--allow-import", "my_old_weights"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "First.weights takes (self, losses, gradients, infos, state)" in said
    assert "expected weights(self, batch, state)" in said


def test_a_weighter_of_the_users_own_is_taken_where_it_is_allowed(here, monkeypatch, capsys):
    package = here / "my_weights"
    package.mkdir()
    (package / "__init__.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(here))
    words = ["train", "tiny.yaml", "--weighter.name", "my_weights:First", "--weighter.share", "0.8"]
    assert main([*words, "--out", "run", "--allow-import", "my_weights"]) == 0
    record = json.loads(Path("run/records.jsonl").read_text().splitlines()[0])
    assert record["weights"][0] == pytest.approx(0.8)
    # a run folder never imports anything by itself
    Path("run/summary.json").unlink()
    assert main(["resume", "run"]) == 2
    assert "--allow-import my_weights" in capsys.readouterr().err
    assert main(["resume", "run", "--allow-import", "my_weights"]) == 0
    for i, name in enumerate(("my_weights.First", "my_weights:First")):
        both = ["compare", "tiny.yaml", "--weighters", f"uniform,{name}:share=0.9"]
        assert main([*both, "--allow-import", "my_weights", "--out", f"both{i}"]) == 0
        weighters = json.loads(Path(f"both{i}/comparison.json").read_text())["weighters"]
        assert weighters[1].startswith("my_w")
        # a page of results imports nothing, and needs to import nothing
        assert main(["report", f"both{i}", "--out", f"{i}.html"]) == 0
        assert "cannot be read" not in Path(f"{i}.html").read_text()


def test_a_class_is_not_taken_from_a_package_with_a_name_alike(here, capsys):
    words = ["train", "tiny.yaml", "--weighter.name", "my_weights_too:First"]
    assert main([*words, "--allow-import", "my_weights"]) == 2
    assert "--allow-import my_weights_too" in capsys.readouterr().err
