"""Deviations of weights: what they mix, and how alike they are."""

import pytest
import torch

from towpath.control.deviations import centred, cosine


def test_centred_rows_sum_to_zero_over_the_tasks_that_are_not_held():
    rows = torch.tensor([[1.0, 2.0, 6.0], [4.0, 4.0, 4.0]])
    assert centred(rows).tolist() == [[-2.0, -1.0, 3.0], [0.0, 0.0, 0.0]]
    held = torch.tensor([[True, False, False], [False, False, False]])
    assert centred(rows, held).tolist() == [[0.0, -2.0, 2.0], [0.0, 0.0, 0.0]]


def test_the_cosine_of_arrays_is_that_of_vectors():
    a, b = torch.tensor([[3.0, 4.0]]), torch.tensor([[4.0, 3.0]])
    assert cosine(a, b) == pytest.approx(0.96)
    assert cosine(a, -a) == pytest.approx(-1.0)
    assert cosine(a, torch.zeros_like(a)) == 0.0
