"""The package on systems that are not ours, played by taking away what they lack."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import towpath
from tests.training.runs import TINY
from towpath import machine
from towpath.objective.source import LearnerTasks

POSIX_MODULES = ("fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
# what `os` and `signal` lack on Windows, as far as a program like ours might want it
POSIX_CALLS = [
    "fchmod",
    "fchown",
    "fork",
    "forkpty",
    "getloadavg",
    "getpgid",
    "getuid",
    "geteuid",
    "killpg",
    "mkfifo",
    "nice",
    "O_CLOEXEC",
    "O_DIRECTORY",
    "O_NOFOLLOW",
    "O_NONBLOCK",
    "openpty",
    "posix_spawn",
    "sched_getaffinity",
    "setsid",
    "statvfs",
    "sysconf",
    "uname",
    "wait4",
]
POSIX_SIGNALS = [
    "SIGALRM",
    "SIGCHLD",
    "SIGCONT",
    "SIGHUP",
    "SIGKILL",
    "SIGPIPE",
    "SIGQUIT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGUSR1",
    "SIGUSR2",
    "alarm",
    "pause",
    "pthread_kill",
    "pthread_sigmask",
    "setitimer",
    "siginterrupt",
    "sigpending",
    "sigwait",
]
WINDOWS = f"""
import os, shutil, signal, subprocess, sys
# other people's packages are for other people to simulate: they are imported as they are here
import jinja2, jsonargparse, matplotlib.figure, numpy, PIL.Image, pooch, rich.progress
import safetensors.torch, scipy.ndimage, scipy.optimize, scipy.stats, torch, yaml

for name in {POSIX_MODULES!r}:
    sys.modules[name] = None
for name in {POSIX_CALLS!r}:
    if hasattr(os, name):
        delattr(os, name)
for name in {POSIX_SIGNALS!r}:
    if hasattr(signal, name):
        delattr(signal, name)
# Windows has it by another way than the one that was just taken from it
shutil.disk_usage = lambda path: shutil._ntuple_diskusage(2**40, 0, 2**40)
"""
MSVCRT = """
import errno, types
known = {}
def locking(descriptor, mode, count):
    place = os.fstat(descriptor).st_ino
    if known.get(place, descriptor) != descriptor:
        raise PermissionError(errno.EACCES, "Permission denied")  # as Windows says it
    known[place] = descriptor
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
"""
IMPORTS = """
import importlib, pkgutil, towpath
for module in pkgutil.walk_packages(towpath.__path__, "towpath."):
    if module.name != "towpath.__main__":
        importlib.import_module(module.name)
print("imported")
"""
TRAINS = """
from pathlib import Path
from towpath.cli.main import main
assert main(["train", "tiny.yaml", "--out", "run"]) == 0
assert not Path("run/.lock").exists()
"""
LOCKS = """
from pathlib import Path
from towpath.runs.locking import LockedError, locked
folder = Path("held")
folder.mkdir()
with locked(folder):
    try:
        with locked(folder):
            print("two have it")
    except LockedError:
        print("refused")
known.clear()  # Windows unlocks a file that is closed
with locked(folder):
    print("free again")
"""


def played(program: str, folder: Path) -> list[str]:
    """What a program prints on a system without POSIX."""
    done = subprocess.run(
        [sys.executable, "-c", WINDOWS + program],
        env={**os.environ, "PYTHONPATH": str(Path(towpath.__file__).parents[1])},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_module_imports_without_posix(tmp_path):
    assert played(IMPORTS, tmp_path)[-1] == "imported"


def test_a_run_trains_without_posix(tmp_path):
    short = {"training": {"steps": 4, "horizon": 2, "meta_batch_size": 2}, "test": {"tasks": 2}}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump({**TINY, **short}))
    assert played(MSVCRT + TRAINS, tmp_path)[-1] == "The run is in run"


def test_a_folder_is_locked_by_a_file_where_the_system_locks_no_folders(tmp_path):
    assert played(MSVCRT + LOCKS, tmp_path) == ["refused", "free again"]
    assert not (tmp_path / "held" / ".lock").exists()


def test_cores_are_those_of_the_process_or_else_of_the_machine(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert machine.available_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert machine.available_cores() == 8
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.available_cores() == 1


@pytest.mark.parametrize(("ranks", "expected"), [(1, 6), (4, 1), (8, 1)])
def test_an_objective_uses_the_cores_that_other_ranks_leave(monkeypatch, ranks, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)), raising=False)
    given = {"RANK": 0, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks}
    for name, value in {**given, "MASTER_ADDR": "localhost", "MASTER_PORT": 1}.items():
        monkeypatch.setenv(name, str(value))
    learner = towpath.learners.ProtoNet(towpath.backbones.MLP(4, hidden=(3,)))
    for objective, count in (
        (towpath.Objective(learner), expected),
        (towpath.Objective(learner, workers=2), 2),
    ):
        assert isinstance(objective.source, LearnerTasks)
        assert objective.source.workers._count == count
