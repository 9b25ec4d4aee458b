"""The scale of a task's targets: from the support set, held up by the training tasks."""

import numpy as np
import pytest

from towpath.data.tables.targets import TargetScale


def test_the_scale_is_undone_up_to_rounding():
    scale = TargetScale.of(np.array([3.0, 5.0, 10.0]), 2.0)
    values = np.array([[-4.0], [0.0], [1e3]])
    assert scale.undo(scale.apply(values)) == pytest.approx(values, rel=1e-6, abs=1e-6)


def test_many_support_numbers_decide_alone_and_few_share_with_the_training_tasks():
    values = np.random.default_rng(0).normal(7.0, 3.0, 4000)
    assert TargetScale.of(values, 100.0).scale == pytest.approx(3.0, rel=0.25)
    assert TargetScale.of(values, 1.0).scale == pytest.approx(values.std(), rel=1e-3)
    assert TargetScale.of(values[:1], 5.0).scale == pytest.approx(5.0 * np.sqrt(2 / 3))


def test_equal_support_numbers_do_not_blow_up_the_query():
    scale = TargetScale.of(np.full(16, 5.0), 1.2)
    assert scale.mean == 5.0
    assert scale.apply(np.array([8.0])) == pytest.approx([3.0 / (1.2 / 3)])
