"""Columns standardised by the rows of the training tasks."""

import numpy as np

from towpath.data.tables import Scaling


def test_scaling_is_that_of_numpy_and_a_missing_value_becomes_the_mean():
    values = np.random.default_rng(0).normal(5, 3, (50, 3)).astype(np.float32)
    scaled = Scaling.of(values).apply(values)
    np.testing.assert_allclose(scaled, (values - values.mean(0)) / values.std(0), atol=1e-5)
    holes = values.copy()
    holes[7, 1] = np.nan
    filled = Scaling.of(holes).apply(holes)
    assert filled[7, 1] == 0
    np.testing.assert_allclose(
        Scaling.of(holes).mean[1], np.delete(values[:, 1], 7).mean(), rtol=1e-6
    )
    np.testing.assert_allclose(Scaling.of(values).undo(scaled), values, rtol=1e-4)


def test_constant_and_exempt_columns_keep_scale_one():
    values = np.array([[3.3, 1, 8], [3.3, 5, 9]], np.float32)
    scaling = Scaling.of(values, np.array([True, False, True]))
    assert scaling.scale[:2].tolist() == [1, 1]
    assert scaling.mean[1] == 0
    np.testing.assert_allclose(scaling.apply(values), [[0, 1, -1], [0, 5, 1]], atol=1e-6)
