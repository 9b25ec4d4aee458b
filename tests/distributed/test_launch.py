"""A rank that dies: torchrun's restart goes on from the checkpoint, or all end with a sentence."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

import towpath
from tests.training.runs import TINY, Silent, outcome
from towpath.cli.main import main
from towpath.training import Recipe, resume, train

from .processes import living, mark_of, settled, started, torchrun
from .test_ranks import assert_same

STEPS = 300


@pytest.fixture
def recipe(tmp_path):
    """Long enough to be killed in the middle, in float64."""
    training = {"steps": STEPS, "horizon": 2, "meta_batch_size": 3, "checkpoint_every": 10}
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump({**TINY, "training": training, "dtype": "float64"}))
    return file


def undisturbed(file: Path, out: Path) -> Path:
    train(out, Recipe.of(yaml.safe_load(file.read_text())), Silent())
    return out


def rank_of(pid: int) -> str:
    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(word.decode().partition("=")[::2] for word in words if word).get("RANK", "")


def kill_one(child: subprocess.Popen[bytes], out: Path, rank: int, number: int) -> None:
    """The signal to one rank, once the run has a checkpoint."""
    deadline = time.monotonic() + 90
    while not (out / "checkpoints" / "last.safetensors").exists():
        assert time.monotonic() < deadline, "no checkpoint after 90 s"
        assert child.poll() is None, "the run ended before it could be disturbed"
        time.sleep(0.05)
    for pid in living(mark_of(child)):
        with contextlib.suppress(OSError):
            if rank_of(pid) == str(rank):
                os.kill(pid, number)


@pytest.mark.parametrize("rank", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_killed_rank_is_restarted_and_the_run_ends_as_if_nothing_had_been(tmp_path, recipe, rank):
    out, log = tmp_path / "run", tmp_path / "log"
    words = torchrun(2, "towpath", "train", str(recipe), "--out", str(out), restarts=1)
    with started(words, log) as child:
        kill_one(child, out, rank, signal.SIGKILL)
        assert child.wait(150) == 0, log.read_text()
        assert not settled(child)
    assert "from step" in log.read_text()  # not from the beginning
    assert_same(undisturbed(recipe, tmp_path / "whole"), out, 1e-9)


@pytest.mark.slow
def test_a_restarted_run_ends_equal_to_the_bit_to_one_of_as_many_ranks(tmp_path, recipe):
    log = tmp_path / "log"
    for name in ("killed", "whole"):
        out = tmp_path / name
        words = torchrun(3, "towpath", "train", str(recipe), "--out", str(out), restarts=2)
        words += ["--weighter.name", "tow"]
        with started(words, log) as child:
            if name == "killed":
                kill_one(child, out, 1, signal.SIGKILL)
            assert child.wait(200) == 0, log.read_text()
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")


def test_without_restarts_every_rank_ends_with_a_sentence_and_the_run_can_go_on(tmp_path, recipe):
    out, log = tmp_path / "run", tmp_path / "log"
    words = torchrun(3, "towpath", "train", str(recipe), "--out", str(out))
    with started(words, log) as child:
        kill_one(child, out, 1, signal.SIGKILL)
        began = time.monotonic()
        assert child.wait(60) == 1, log.read_text()
        assert not settled(child, 60 - (time.monotonic() - began))
    said = log.read_text().replace("\n", " ")
    for rank in (0, 2):
        assert said.count(f"Rank {rank} of 3 ") == 1
    assert said.count("expected all 3 ranks to go on together") == 2
    assert said.count(f"torchrun --nproc-per-node 3 -m towpath resume {out}") == 2
    assert f'File "{Path(towpath.__file__).parent}' not in said  # no traceback of ours
    resume(out, Silent())  # in one process, from the last whole window
    assert_same(undisturbed(recipe, tmp_path / "whole"), out, 1e-9)


def standing_still(records: Path, seconds: float = 30) -> None:
    """Wait until nothing is written any more."""
    deadline = time.monotonic() + seconds
    size, since = -1, time.monotonic()
    while time.monotonic() - since < 1:
        assert time.monotonic() < deadline, "records go on"
        if (now := records.stat().st_size) != size:
            size, since = now, time.monotonic()
        time.sleep(0.05)


@pytest.mark.slow
def test_a_rank_that_waits_for_one_that_hangs_still_hears_sigterm(tmp_path, recipe):
    out, log = tmp_path / "run", tmp_path / "log"
    with started(torchrun(2, "towpath", "train", str(recipe), "--out", str(out)), log) as child:
        kill_one(child, out, 1, signal.SIGSTOP)
        standing_still(out / "records.jsonl")  # the other rank waits for it
        child.terminate()
        child.wait(60)
        assert not settled(child)
    assert "Rank 0 of 2 was stopped (SIGTERM)" in log.read_text()


def test_wrong_input_is_said_by_the_first_rank_and_compare_refuses_torchrun(monkeypatch, capsys):
    handler = signal.getsignal(signal.SIGTERM)
    for name, value in {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        assert main(["compare", "demo", "--weighters", "uniform"]) == 2
        assert main(["train", "demmo"]) == 2
    said = capsys.readouterr().err
    assert said.count("compare found 2 processes of torchrun; expected one") == 1
    assert said.count("demmo") == 1
    assert signal.getsignal(signal.SIGTERM) is handler
