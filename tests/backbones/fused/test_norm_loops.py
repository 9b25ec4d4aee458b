"""What the pass forward remembers: where each maximum is, what was there, and where ReLU closes."""

import numpy as np

from towpath.backbones.fused.norm_loops import CLOSED, forward


def passed(x, gamma=1.0):
    """Outputs, places, inputs at the maxima and statistics of one channel of one image."""
    array = np.asarray(x, float)[None, :, :, None]
    shape = (1, array.shape[1] // 2, array.shape[2] // 2, 1)
    y, place, top = np.empty(shape), np.empty(shape, np.uint8), np.empty(shape)
    mean, scale = forward(array, np.full(1, gamma), np.zeros(1), 0.0, y, place, top)
    return y[0, :, :, 0], place[0, :, :, 0], top[0, :, :, 0], mean[0], scale[0]


def test_places_count_row_by_row_and_the_input_there_is_kept():
    x = [[1, 2, 9, 8], [3, 4, 5, 5], [0, 0, 7, 7], [6, 0, 7, 8]]
    _, place, top, mean, scale = passed(x)
    assert top.tolist() == [[4, 9], [6, 8]]
    assert mean == np.mean(x)
    np.testing.assert_allclose(scale, 1 / np.std(x))
    assert place.tolist() == [[CLOSED, 0], [2, 3]]  # 4 is below the mean of 4.5: ReLU gives 0


def test_a_negative_gain_takes_the_smallest_input():
    y, place, top, mean, scale = passed([[1, 2], [-5, 0]], gamma=-1.0)
    assert (place[0, 0], top[0, 0]) == (2, -5)
    np.testing.assert_allclose(y[0, 0], (mean + 5) * scale)


def test_the_first_of_equal_maxima_counts_as_with_torch():
    _, place, _, _, _ = passed([[3, 3, 0, 0], [3, 1, 0, 0]])
    assert place[0, 0] == 0


def test_a_last_row_and_column_without_a_pair_count_in_the_statistics_only():
    x = np.arange(9.0).reshape(3, 3)
    y, _, _, mean, _ = passed(x)
    assert y.shape == (1, 1)
    assert mean == 4.0
