"""A run as reports need it, of the files alone: whole, of towpath 0.1, or damaged."""

import json
import shutil
from dataclasses import fields

import pytest

from tests.training.runs import run, tiny
from towpath.runs.read import read_run
from towpath.runs.records import ProbeRecord, StepRecord

TRAINING = {"steps": 6, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 2}
PROBES = [{"name": "fixed", "split": "train", "every": 4, "horizon": 2, "meta_batch_size": 2}]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    often = {"tasks": 2, "every": 2}
    recipe = tiny("tow-targets", training=TRAINING, validation=often, probes=PROBES)
    return run(path, recipe)


@pytest.fixture
def path(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "run")


def rewritten(path, change):
    """Change every line of the records, and forget the checkpoints, which know their digest."""
    shutil.rmtree(path / "checkpoints")
    records = path / "records.jsonl"
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    records.write_text("".join(f"{json.dumps(change(line))}\n" for line in lines))
    return path


def test_a_whole_run_has_everything_and_lacks_nothing(path):
    found = read_run(path)
    assert found.missing == []
    assert found.finished
    assert (found.steps, found.asked_steps, found.weighter) == (6, 6, "tow-targets")
    assert [check.step for check in found.checks] == [2, 4, 6]
    assert [line.step for line in found.plans] == [1, 3, 5]
    assert [record.step for record in found.last] == [5, 6]
    assert all(isinstance(record, StepRecord) for record in found.last)
    assert [record.step for record in found.probes["fixed"]] == [0, 4]
    assert all(isinstance(record, ProbeRecord) for record in found.probes["fixed"])
    assert found.batch == 4
    assert found.tasks == 24
    assert list(found.scores) == ["glyphs"]
    assert found.has_digests


def test_records_of_0_1_which_name_no_kind_say_the_same(path):
    expected = read_run(path)
    rewritten(path, lambda line: {key: line[key] for key in line if key != "kind"})
    found = read_run(path)
    for each in fields(expected):
        if each.name not in ("scores", "made_with", "recipe"):
            assert getattr(found, each.name) == getattr(expected, each.name), each.name


@pytest.mark.parametrize("field", ["timing", "loss", "accuracy", "plan"])
def test_what_a_record_may_lack_is_not_shown_and_no_damage(path, field):
    rewritten(path, lambda line: {key: line[key] for key in line if key != field})
    found = read_run(path)
    assert found.missing == []
    assert found.steps == 6
    shown = {"timing": found.seconds, "loss": found.losses, "plan": found.plans}
    assert not shown.get(field)


def test_a_mini_batch_in_which_nothing_weighs_anything_judges_nobody(path):
    def weightless(line):
        return {**line, "weights": [0.0] * 4} if line["kind"] == "step" else line

    found = read_run(rewritten(path, weightless))
    assert (found.clean, found.wrong, found.groups) == ([], [], {})
    assert len(found.deviations) == 6


def test_records_of_another_run_are_told(path):
    content = (path / "records.jsonl").read_bytes()
    (path / "records.jsonl").write_bytes(content.replace(b'"window":0', b'"window":1', 1))
    (sentence,) = read_run(path).missing
    assert "is not the file that the checkpoint" in sentence
