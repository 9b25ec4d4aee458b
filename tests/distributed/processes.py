"""Real processes with an end: each has a session of its own, a time limit, and leaves nothing."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MARK = "TOWPATH_TEST_MARK"
"""an environment variable that every descendant inherits, whatever session it moves to"""


@contextmanager
def started(
    words: Sequence[str], log: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a session of its own; at the end none of its descendants is left."""
    mark = uuid.uuid4().hex
    with log.open("ab") as file:
        child = subprocess.Popen(
            words,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {}), MARK: mark},
        )
    _MARKS[child.pid] = mark
    try:
        yield child
    finally:
        if child.poll() is None:
            child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(20)
        for pid in living(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.wait(10)


def ended(words: Sequence[str], log: Path, seconds: float = 120, **environment: str) -> int:
    """Exit code of a command that ends in time and leaves no process behind."""
    with started(words, log, environment) as child:
        try:
            code = child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"{words} still runs after {seconds} s\n{log.read_text()}"
            ) from None
        left = settled(child)
        assert not left, f"{words} left processes behind: {left}\n{log.read_text()}"
    return code


def settled(child: subprocess.Popen[bytes], seconds: float = 10) -> list[int]:
    """Descendants that are still there some seconds after the command ended."""
    deadline = time.monotonic() + seconds
    while (left := living(mark_of(child))) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def mark_of(child: subprocess.Popen[bytes]) -> str:
    """The mark that `started` gave the command."""
    return _MARKS[child.pid]


_MARKS: dict[int, str] = {}


def living(mark: str) -> list[int]:
    """Processes with the mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if state != "Z":  # a zombie is dead: its parent has not looked yet
                    found.append(int(entry.name))
    return found


def torchrun(ranks: int, *words: str, restarts: int = 0) -> list[str]:
    """`torchrun -m words`, on a free port."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    options = ["--nproc-per-node", str(ranks), "--max-restarts", str(restarts)]
    return [*launcher, *options, "-m", *words]
