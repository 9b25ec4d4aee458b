"""Real processes running the command line, to be killed, interrupted or starved of disk.

A fork server imports the library once, so that a child starts in milliseconds.
"""

import contextlib
import multiprocessing
import os
import resource
import signal
import sys
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
# the command line imports late what a command needs, and so do rules with scipy
CONTEXT.set_forkserver_preload(
    [
        "towpath.cli.main",
        "towpath.cli.progress",
        "towpath.training.loop",
        "scipy.linalg",
        "scipy.optimize",
        "tests.training.children",
    ]
)


@dataclass(frozen=True)
class Fate:
    """What befalls a child."""

    signal: int = 0
    at_step: int = 0
    """the signal comes when a window has reached this step"""
    at_write: int = 0
    """or at the n-th flush or rename of a file, just before it (odd n) or just after (even n)"""
    file_bytes: int = 0
    """no file may grow beyond (RLIMIT_FSIZE)"""


def start(argv: list[str], log: Path, fate: Fate | None = None) -> BaseProcess:
    """`towpath argv` in a process of its own; what it says goes into `log`."""
    arguments = (argv, str(log), fate or Fate(), dict(os.environ), os.getcwd())
    child = CONTEXT.Process(target=_live, args=arguments, daemon=True)
    child.start()
    return child


def run(argv: list[str], log: Path, fate: Fate | None = None) -> int:
    """Exit code of `towpath argv`; minus the signal's number if a signal ended it."""
    child = start(argv, log, fate)
    child.join(300)
    assert child.exitcode is not None, f"towpath {' '.join(argv)} did not end"
    return child.exitcode


def _live(argv, log, fate, environment, folder):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    if fate.file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (fate.file_bytes, fate.file_bytes))
    if fate.at_step:
        _signal_at_step(fate)
    if fate.at_write:
        _signal_at_write(fate)
    from towpath.cli.main import main

    code = main(argv)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def _signal_at_step(fate):
    from towpath.cli.progress import ConsoleReporter

    stepped = ConsoleReporter.stepped
    sent: list[int] = []

    def watch(self, step, record):
        stepped(self, step, record)
        if step >= fate.at_step and not sent:
            sent.append(step)
            os.kill(os.getpid(), fate.signal)

    ConsoleReporter.stepped = watch  # type: ignore[method-assign]  # in the child process alone


def _signal_at_write(fate):
    seen = 0

    def watched(call):
        def watch(*arguments, **options):
            nonlocal seen
            seen += 1
            if seen == fate.at_write:
                os.kill(os.getpid(), fate.signal)
            result = call(*arguments, **options)
            seen += 1
            if seen == fate.at_write:
                os.kill(os.getpid(), fate.signal)
            return result

        return watch

    # pathlib's own replace() calls os.replace, so these two see every flush and every rename
    os.fsync, os.replace = watched(os.fsync), watched(os.replace)


KILL, INTERRUPT, TERMINATE = signal.SIGKILL, signal.SIGINT, signal.SIGTERM
