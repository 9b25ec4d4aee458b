"""The grid of a comparison comes out the same whoever runs it, and survives a run that fails."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.distributed.processes import ended, living, mark_of, settled, started
from tests.training.runs import Silent, outcome, tiny
from towpath.grid.compare import ComparisonIncompleteError, begin_comparison, run_comparison
from towpath.grid.engines import InProcess, Subprocesses
from towpath.grid.events import Stepped

SHORT = {"training": {"steps": 6, "horizon": 2, "meta_batch_size": 3}, "test": {"tasks": 4}}
WEIGHTERS, SEEDS = ("uniform", "tow-targets"), (0, 1, 2)
NAMES = [f"{weighter}-seed{seed}" for weighter in WEIGHTERS for seed in SEEDS]
TOWPATH = [sys.executable, "-m", "towpath"]


@pytest.fixture(scope="module")
def recipe_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("recipe") / "tiny.yaml"
    file.write_text(yaml.safe_dump(tiny(**SHORT).as_mapping()))
    return file


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Two weighters, three seeds, one after another in this process."""
    path = tmp_path_factory.mktemp("grid") / "alone"
    begin_comparison(path, tiny(**SHORT), WEIGHTERS, SEEDS)
    run_comparison(path, Silent())
    return path


def without_timing(value):
    if isinstance(value, dict):
        return {k: without_timing(v) for k, v in value.items() if k != "timing"}
    return [without_timing(v) for v in value] if isinstance(value, list) else value


def result(path: Path):
    return without_timing(json.loads((path / "comparison.json").read_text()))


def assert_same_grid(one: Path, other: Path) -> None:
    assert result(one) == result(other)
    for name in NAMES:
        assert outcome(one / name) == outcome(other / name)


@pytest.mark.parametrize("engine", [["--jobs", "2"], ["--engine", "ray"]], ids=["jobs", "ray"])
def test_every_engine_gives_the_same_summaries(tmp_path, recipe_file, alone, engine):
    out, log = tmp_path / "grid", tmp_path / "log"
    words = ["compare", str(recipe_file), "--weighters", ",".join(WEIGHTERS), "--seeds", "0,1,2"]
    assert ended([*TOWPATH, *words, "--out", str(out), *engine], log, 240) == 0, log.read_text()
    assert_same_grid(alone, out)
    said = log.read_text()
    assert all(f"{name}: ended, test" in said for name in NAMES)


def break_one(path: Path, name: str) -> None:
    (path / name).mkdir()
    (path / name / "config.yaml").write_text("training: [")


class Notes:
    """A watcher that remembers."""

    def __init__(self):
        self.events, self.failures = [], []

    def heard(self, name, event):
        self.events.append((name, event))

    def failed(self, name, reason, again):
        self.failures.append((name, again))


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_run_that_fails_is_tried_again_and_does_not_cost_the_others(tmp_path, jobs):
    path, notes = tmp_path / "grid", Notes()
    begin_comparison(path, tiny(**SHORT), ["uniform", "random"], [0])
    break_one(path, "uniform-seed0")
    engine = InProcess(Silent(), notes) if jobs == 1 else Subprocesses(jobs, notes)
    with pytest.raises(ComparisonIncompleteError, match="1 of 2 runs failed") as told:
        run_comparison(path, Silent(), engine=engine)
    assert "uniform-seed0: " in str(told.value)
    assert f"towpath resume {path}" in str(told.value)
    assert notes.failures == [("uniform-seed0", True), ("uniform-seed0", False)]
    assert [run["folder"] for run in result(path)["runs"]] == ["random-seed0"]
    (path / "uniform-seed0" / "config.yaml").unlink()  # the user repairs it and goes on
    assert len(run_comparison(path, Silent()).runs) == 2


@pytest.mark.slow
@pytest.mark.parametrize("engine", [["--jobs", "2"], ["--engine", "ray"]], ids=["jobs", "ray"])
def test_a_failed_run_on_the_command_line(tmp_path, engine):
    path, log = tmp_path / "grid", tmp_path / "log"
    begin_comparison(path, tiny(**SHORT), ["uniform", "random"], [0, 1])
    break_one(path, "random-seed1")
    assert ended([*TOWPATH, "resume", str(path), *engine], log, 240) == 1
    said = log.read_text().replace("\n", " ")
    assert "1 of 4 runs failed, twice each (random-seed1: " in said
    assert "Traceback" not in said
    assert len(result(path)["runs"]) == 3


LOUD = """
from dataclasses import dataclass
from towpath import MiniBatchWeighter

@dataclass(frozen=True)
class Loud(MiniBatchWeighter):
    def weights(self, batch, state):
        print("weighing")
        return batch.losses.new_full((len(batch),), 1 / len(batch)), state
"""


def test_what_a_users_class_prints_is_no_event(tmp_path, monkeypatch):
    (tmp_path / "loud.py").write_text(LOUD)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    path, notes = tmp_path / "grid", Notes()
    begin_comparison(path, tiny(**SHORT), ["uniform", "loud:Loud"], [0], allowed=["loud"])
    engine = Subprocesses(2, notes)
    run_comparison(path, Silent(), engine=engine, allowed=["loud"])
    assert notes.failures == []
    assert len(result(path)["runs"]) == 2


class Killing(Notes):
    """A watcher that kills the process of the first run that it hears a step of."""

    engine: Subprocesses

    def heard(self, name, event):
        if isinstance(event, Stepped) and not any(isinstance(e, Stepped) for _, e in self.events):
            for child in self.engine._children:
                os.kill(child.pid, signal.SIGKILL)
        super().heard(name, event)


def test_a_run_whose_process_is_killed_goes_on_and_ends_equal(tmp_path):
    recipe = tiny(**{**SHORT, "training": {**SHORT["training"], "steps": 200}})
    for name in ("whole", "killed"):
        begin_comparison(tmp_path / name, recipe, ["uniform"], [0])
    run_comparison(tmp_path / "whole", Silent())
    notes = Killing()
    notes.engine = Subprocesses(2, notes)
    run_comparison(tmp_path / "killed", Silent(), engine=notes.engine)
    assert notes.failures == [("uniform-seed0", True)]
    ours, theirs = (outcome(tmp_path / name / "uniform-seed0") for name in ("killed", "whole"))
    assert ours == theirs


@pytest.mark.parametrize(
    "engine",
    [["--jobs", "2"], pytest.param(["--engine", "ray"], marks=pytest.mark.slow)],
    ids=["jobs", "ray"],
)
def test_ctrl_c_stops_every_run_with_its_checkpoint(tmp_path, engine):
    path, log = tmp_path / "grid", tmp_path / "log"
    long = {"training": {"steps": 4000, "horizon": 2, "meta_batch_size": 2}}
    begin_comparison(path, tiny(**long), ["uniform", "random"], [0])
    folders = [path / "uniform-seed0", path / "random-seed0"]
    with started([*TOWPATH, "resume", str(path), *engine], log) as child:
        deadline = time.monotonic() + 120
        # a record on the disk: both runs are training
        while not all(
            (f / "records.jsonl").exists() and (f / "records.jsonl").stat().st_size for f in folders
        ):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        assert child.wait(90) == 130, log.read_text()
        assert not settled(child, 20), living(mark_of(child))
    for folder in folders:
        assert (folder / "checkpoints" / "last.safetensors").exists()
        assert not (folder / "summary.json").exists()
    assert f"towpath resume {path}" in log.read_text().replace("\n", " ")
    assert "Traceback" not in log.read_text()
