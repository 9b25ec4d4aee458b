"""The command line as a program: how it ends, its version, its log."""

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import towpath
from towpath.cli.main import main


def test_python_m_towpath_is_the_program_and_ends_at_ctrl_c(here):
    environment = {**os.environ, "PYTHONPATH": str(Path(towpath.__file__).parents[1])}
    words = [sys.executable, "-m", "towpath", "train", "tiny.yaml", "--training.steps", "1000000"]
    with subprocess.Popen(
        [*words, "--out", "run"], env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        try:
            records = here / "run" / "records.jsonl"
            while process.poll() is None and not (records.exists() and records.stat().st_size):
                time.sleep(0.05)
            process.send_signal(2)
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()  # nothing is left behind, whatever failed
    assert process.returncode == 130, said
    assert " ".join(said.decode().split()) == "Interrupted; go on with: towpath resume run"
    assert (here / "run" / "checkpoints" / "last.safetensors").exists()


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"towpath {towpath.__version__}"


def test_a_run_says_what_happens_in_the_log(here, caplog):
    caplog.set_level(logging.INFO)
    assert main(["--verbose", "train", "tiny.yaml", "--out", "run"]) == 0
    for part in ("training from step 0", "checkpoint of step 2 written", "ended after step 4"):
        assert part in caplog.text
