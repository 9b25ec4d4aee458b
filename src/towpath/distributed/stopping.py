"""SIGTERM, which schedulers and torchrun send, ends a run as Ctrl-C does: with a checkpoint.

Python runs signal handlers between two of its own instructions, so a rank that waits inside a
collective for a rank that hangs would never notice. There a thread waits for the signal as well,
and ends the process with a message if the handler does not run in time.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from towpath.distributed.torchrun import launched_rank, launched_size

GRACE_SECONDS = 10.0
"""time until the thread ends the process itself; torchrun sends SIGKILL after 30"""


class Terminated(KeyboardInterrupt):
    """SIGTERM was received; code that handles Ctrl-C handles it in the same way."""


def exit_code() -> int:
    """Return 143, as shells expect, or 1 for a rank, where it means that the run ended early."""
    return 1 if launched_size() > 1 else 128 + signal.SIGTERM


def ranks_ended() -> str:
    """Return a sentence on why a rank may have received SIGTERM, and what to do."""
    return (
        f"Rank {launched_rank()} of {launched_size()} was stopped (SIGTERM): another rank ended or "
        f"the job was cancelled; expected all {launched_size()} ranks to go on together. Look at "
        "the message of the rank that ended first"
    )


class _Handler:
    """What SIGTERM calls while it is heeded: it raises `Terminated`, once."""

    def __init__(self) -> None:
        self.heard = threading.Event()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.SIG_IGN)  # the checkpoint is not cut short by a second one
        self.heard.set()
        raise Terminated


@contextmanager
def heeding_sigterm() -> Iterator[None]:
    """Raise `Terminated` once when SIGTERM is received while the block runs.

    The former handler is restored at the end. Outside the main thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return
    handler = _Handler()
    before = signal.signal(signal.SIGTERM, handler)
    listening = _listen(handler.heard) if launched_size() > 1 else None
    try:
        yield
    finally:
        if listening is not None:
            signal.set_wakeup_fd(-1)
            listening.close()
        signal.signal(signal.SIGTERM, before)


def ignore_sigterm() -> None:
    """Ignore SIGTERM until `heeding_sigterm` ends: this process is ending already, by itself.

    Where SIGTERM is not heeded, nothing is changed.
    """
    if isinstance(signal.getsignal(signal.SIGTERM), _Handler):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _listen(heard: threading.Event) -> socket.socket:
    """Start a thread that reads signals from a pipe, which works while the main thread hangs."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

    def wait() -> None:
        """End the process if the handler has not run some seconds after SIGTERM."""
        with reader:
            while number := reader.recv(1):  # nothing once the writer is closed
                if number[0] == signal.SIGTERM and not heard.wait(GRACE_SECONDS):
                    _end()

    threading.Thread(target=wait, daemon=True, name="towpath-sigterm").start()
    return writer


def _end() -> None:
    sys.stderr.write(
        f"{ranks_ended()}, then go on with: torchrun --nproc-per-node "
        f"{os.environ.get('LOCAL_WORLD_SIZE', launched_size())} -m towpath resume RUN\n"
    )
    sys.stderr.flush()
    os._exit(exit_code())
