"""The paper's moving average."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.runs.smoothing import moving_average


def test_a_tenth_of_each_new_value_counts():
    assert moving_average([(1, 0.0), (2, 1.0), (3, 1.0)]) == [(1, 0), (2, 0.1), (3, 0.19)]


@given(st.lists(st.floats(-1e6, 1e6), max_size=30))
def test_the_average_is_a_weighted_mean_of_what_came_before(values):
    smooth = moving_average(list(enumerate(values)))
    assert [x for x, _ in smooth] == list(range(len(values)))
    for i, (_, level) in enumerate(smooth):
        weights = [0.9**i] + [0.1 * 0.9 ** (i - j) for j in range(1, i + 1)]
        expected = sum(w * v for w, v in zip(weights, values[: i + 1], strict=True))
        assert level == pytest.approx(expected, rel=1e-9, abs=1e-6)
