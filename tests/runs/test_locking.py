"""Locks on folders; another operating system is played in tests/test_platforms.py."""

import subprocess
import sys

import pytest

from towpath.runs.locking import LockedError, locked

HOLDER = """
import sys
from pathlib import Path
from towpath.runs.locking import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_locked_until_the_process_that_holds_it_is_gone(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockedError), locked(tmp_path):
            pass
        holder.kill()
    with locked(tmp_path):
        assert list(tmp_path.iterdir()) == []  # no file is left by either
