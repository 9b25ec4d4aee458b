"""Engines that run the jobs of a comparison: in this process, in several, or on Ray (on_ray.py).

An engine runs jobs, tries one that fails once more, and returns which failed for good and why. The
results are in the jobs' folders, and are collected by the same code whichever engine ran them.
"""

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import IO, Protocol

from towpath.grid.events import Failed, event_of_line
from towpath.grid.jobs import ATTEMPTS, Job, Watcher, reason_of
from towpath.machine import available_cores
from towpath.training.reporter import Reporter

STOP_SECONDS = 60.0
"""time that a run has to write its checkpoint before it is killed"""


class Engine(Protocol):
    """Runs the jobs of a comparison, each until it ends or has failed for good."""

    def run(self, jobs: Sequence[Job]) -> dict[str, str]:
        """Run all jobs; return the names of those that failed, with the reasons."""
        ...


@dataclass(frozen=True)
class InProcess:
    """Runs the jobs in this process, one after another."""

    reporter: Reporter
    watcher: Watcher | None = None

    def run(self, jobs: Sequence[Job]) -> dict[str, str]:
        """Run all jobs; return the names of those that failed, with the reasons."""
        failures: dict[str, str] = {}
        for job in jobs:
            for attempt in range(ATTEMPTS):
                try:
                    job.run(self.reporter)
                    break
                except BrokenPipeError:  # the reader of our progress is gone
                    raise
                except Exception as error:  # noqa: BLE001 - the other runs go on
                    again = attempt + 1 < ATTEMPTS
                    if self.watcher is not None:
                        self.watcher.failed(job.name, reason_of(error), again)
                    if not again:
                        failures[job.name] = reason_of(error)
        return failures


class Subprocesses:
    """Runs `count` jobs at a time, each in a process that no other run can bring down."""

    def __init__(self, count: int, watcher: Watcher) -> None:
        self.count, self.watcher = count, watcher
        self._lock = threading.Lock()
        self._children: set[subprocess.Popen[str]] = set()
        self._stopping = False

    def run(self, jobs: Sequence[Job]) -> dict[str, str]:
        """Run all jobs; return the names of those that failed, with the reasons."""
        share = max(1, available_cores() // self.count)
        jobs = [replace(job, workers=min(job.recipe.threads, share)) for job in jobs]
        failures: dict[str, str] = {}
        with ThreadPoolExecutor(self.count, "towpath-run") as pool:
            running = {pool.submit(self._attempts, job): job for job in jobs}
            try:
                for future in as_completed(running):
                    reason = future.result()
                    if reason:
                        failures[running[future].name] = reason
            except BaseException:
                self._stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return failures

    def _attempts(self, job: Job) -> str:
        """Run the job until it ends or fails for good; return the reason, empty if it ended."""
        reason = ""
        for attempt in range(ATTEMPTS):
            reason = self._once(job)
            if not reason or self._stopping:
                break
            with self._lock:
                self.watcher.failed(job.name, reason, attempt + 1 < ATTEMPTS)
        return reason

    def _once(self, job: Job) -> str:
        with tempfile.TemporaryFile("w+", errors="replace") as errors:
            child = self._start(errors)
            if child is None:
                return "stopped"
            try:
                said = self._listen(child, job)
                code = child.wait()
            except BaseException:
                child.kill()  # its output has no reader any more
                raise
            finally:
                with self._lock:
                    self._children.discard(child)
            errors.seek(0)
            last = (errors.read().strip().splitlines() or [""])[-1]
        if code == 0:
            return ""
        if said:
            return said
        if code < 0:
            return f"its process was ended by {signal.Signals(-code).name}"
        return f"its process ended with code {code} {last}".strip()

    def _start(self, errors: IO[str]) -> "subprocess.Popen[str] | None":
        with self._lock:
            if self._stopping:
                return None
            child = subprocess.Popen(
                [sys.executable, "-m", "towpath.grid.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                # Ctrl-C of the terminal reaches us alone, and once: we pass it on to the children
                start_new_session=True,
            )
            self._children.add(child)
            return child

    def _listen(self, child: "subprocess.Popen[str]", job: Job) -> str:
        """Pass the child's events on until it ends; return the reason that it gives if it fails."""
        assert child.stdin is not None
        assert child.stdout is not None
        reason = ""
        try:
            with child.stdin as words:
                words.write(job.as_json())
        except BrokenPipeError:
            return reason  # it died before it read its job; its exit code tells why
        with child.stdout as lines:
            for line in lines:
                event = event_of_line(line)
                if isinstance(event, Failed):
                    reason = event.reason
                    continue
                with self._lock:
                    self.watcher.heard(job.name, event)
        return reason

    def _stop(self) -> None:
        """Send SIGTERM to every run, which writes its checkpoint; SIGKILL if that takes long."""
        with self._lock:
            self._stopping = True
            children = list(self._children)
        for child in children:
            child.terminate()
        for child in children:
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
