"""Fixtures of all tests: decoded copies never land in the user's own cache.

One thread a process, child processes included: small problems gain nothing from more, and on a busy
machine OpenMP's waiting threads make them many times slower.
"""

import os
import signal
import threading

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

from towpath.data.locations import CACHE_VARIABLE

torch.set_num_threads(1)
# a shell's background job ignores Ctrl-C, and so would the processes that the tests interrupt
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """`TOWPATH_TEST_CACHE` keeps the decoded copies between sessions."""
    kept = os.environ.get("TOWPATH_TEST_CACHE")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, kept or str(tmp_path_factory.mktemp("decoded")))
        yield
