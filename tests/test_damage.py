"""Run folders that were damaged or changed: refused in one sentence, or the last good file used."""

import os
import shutil
from pathlib import Path

import pytest
import yaml

from towpath.cli.main import main

from .refusal import refused
from .training.runs import TINY, run, tiny


def stopped(place, monkeypatch, **sections):
    """A run of two checkpoints that lacks its summary."""
    monkeypatch.chdir(place)
    training = {"steps": 4, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 2}
    run(Path("run"), tiny(training=training, test={"tasks": 2}, **sections))
    Path("run/summary.json").unlink()
    return [Path("run/checkpoints/last.safetensors"), Path("run/checkpoints/previous.safetensors")]


def shortened(path):
    path.write_bytes(path.read_bytes()[:-50])


def emptied(path):
    path.write_bytes(b"")


def scrambled(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 8] = b"\xff" * 8
    path.write_bytes(bytes(content))


def replaced_by_text(path):
    path.write_text("not a checkpoint")


@pytest.mark.parametrize("damage", [shortened, emptied, scrambled, replaced_by_text])
@pytest.mark.parametrize("command", ["resume", "evaluate"])
def test_damaged_checkpoints_are_refused(damage, command, tmp_path, monkeypatch, capsys):
    for path in stopped(tmp_path, monkeypatch):
        damage(path)
    said = refused([command, "run"], capsys)
    assert "Every checkpoint in run/checkpoints is damaged" in said
    assert "train again" in said


def test_a_damaged_last_checkpoint_falls_back_with_a_warning(tmp_path, monkeypatch, caplog):
    scrambled(stopped(tmp_path, monkeypatch)[0])
    assert main(["resume", "run"]) == 0
    assert "last.safetensors is damaged" in caplog.text


@pytest.mark.parametrize(
    ("section", "value", "found"),
    [
        ("backbone", {"name": "mlp", "hidden": [7]}, "of another model"),
        ("optimizer", {"name": "sgd"}, "of another optimiser"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(
    section, value, found, tmp_path, monkeypatch, capsys
):
    stopped(tmp_path, monkeypatch)
    config = yaml.safe_load(Path("run/config.yaml").read_text())
    config["made_with"].pop("identity")  # as towpath 0.1 left it
    Path("run/config.yaml").write_text(yaml.safe_dump({**config, section: value}))
    said = refused(["resume", "run"], capsys)
    assert found in said
    assert "Use the recipe that it was trained with" in said


@pytest.mark.parametrize("content", ["", "a: [", "- 1\n", "made_with: 3\nwieghter: tow\n"])
def test_a_damaged_configuration_is_refused(content, tmp_path, monkeypatch, capsys):
    stopped(tmp_path, monkeypatch)
    Path("run/config.yaml").write_text(content)
    assert "config.yaml" in (said := refused(["resume", "run"], capsys)) or "wieghter" in said


def test_a_damaged_comparison_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("both").mkdir()
    Path("both/comparison.yaml").write_text("recipe: 3\n")
    assert "damaged" in refused(["resume", "both"], capsys)


def test_a_run_without_a_checkpoint_cannot_be_evaluated(tmp_path, monkeypatch, capsys):
    stopped(tmp_path, monkeypatch)
    shutil.rmtree("run/checkpoints")
    assert "towpath resume run" in refused(["evaluate", "run"], capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(yaml.safe_dump(TINY))
    Path("locked").mkdir(mode=0o500)
    said = refused(["train", "tiny.yaml", "--out", "locked/run"], capsys)
    assert "another --out" in said
