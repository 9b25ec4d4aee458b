"""Loops are compiled once, and run where nothing compiled can be kept."""

import subprocess
import sys

import numpy as np

from towpath.backbones.fused import norm_loops
from towpath.backbones.fused.compiling import compiled


def test_a_compiled_loop_is_kept_for_later_processes():
    x = np.ones((1, 2, 2, 1))
    y, place, top = np.empty((1, 1, 1, 1)), np.empty((1, 1, 1, 1), np.uint8), np.empty((1, 1, 1, 1))
    norm_loops.forward(x, np.ones(1), np.zeros(1), 1e-5, y, place, top)
    statistics = norm_loops.forward.stats  # type: ignore[attr-defined]
    assert statistics.cache_path
    assert sum(statistics.cache_hits.values()) + sum(statistics.cache_misses.values()) > 0


def test_a_loop_still_runs_where_nothing_can_be_kept():
    """Code of the command line has no file to be kept beside, so numba refuses to keep it."""
    code = (
        "from towpath.backbones.fused.compiling import compiled\n"
        "@compiled\n"
        "def double(x):\n"
        "    return 2 * x\n"
        "print(double(21))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"


def test_sums_may_be_reordered_but_numbers_that_are_not_finite_stay():
    def total(x):
        result = x.dtype.type(0)
        for k in range(len(x)):
            result += x[k]
        return result

    reordered = compiled(total, reorder=True)
    x = np.random.default_rng(0).normal(size=1000)
    assert abs(reordered(x) - x.sum()) < 1e-10
    x[3] = np.nan
    assert np.isnan(reordered(x))
