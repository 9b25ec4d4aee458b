"""Projected steps against the active-set methods."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.control.bounds import Project, Simplex
from towpath.control.projected import solve_projected
from towpath.control.quadratic import Programme

seeded = settings(max_examples=25, deadline=None, derandomize=True)


def programme(seed: int, T: int, M: int, base: np.ndarray | None = None) -> Programme:
    g = np.random.default_rng(seed)
    root = g.standard_normal((T * M, T * M))
    H = root @ root.T / (T * M) + 0.1 * np.eye(T * M)
    start = np.full((T, M), 1.0 / M) if base is None else base
    return Programme(H, g.standard_normal(T * M), start)


sizes = {"seed": st.integers(0, 10**6), "T": st.integers(1, 4), "M": st.integers(2, 5)}


@pytest.mark.parametrize("bounds", [Project(), Simplex()], ids=lambda b: type(b).__name__)
@seeded
@given(**sizes)
def test_projected_steps_end_where_the_active_set_method_does(bounds, seed, T, M):
    given_ = programme(seed, T, M)
    mine = solve_projected(given_, bounds.project)
    assert mine.finished
    np.testing.assert_allclose(mine.w, bounds.minimise(given_).w, atol=1e-9)


def test_projected_steps_that_run_out_say_so(monkeypatch):
    monkeypatch.setattr("towpath.control.projected.LIMIT", 1)
    given_ = programme(0, 3, 4)
    out = solve_projected(given_, Project().project)
    assert not out.finished
    d = out.w - given_.base.reshape(-1)
    assert 0.5 * d @ given_.H @ d + given_.g @ d <= 0.0
