"""A run's tensors are where its place says, and of its dtype."""

import torch

from tests.learners.tasks import classification
from towpath.training.place import Place, torch_dtype


def test_inputs_get_the_dtype_and_labels_stay_labels():
    task = classification((2, 2), seed=0, dtype=torch.float32)
    moved = Place(torch.device("cpu"), torch_dtype("float64")).task(task)
    assert moved.support_x.dtype == moved.query_x.dtype == torch.float64
    assert moved.query_y.dtype == task.query_y.dtype
    assert torch.equal(moved.query_x, task.query_x.double())
    assert moved.info == task.info


def test_a_task_that_is_in_place_is_not_copied():
    task = classification((2, 2), seed=0, dtype=torch.float32)
    (batch,) = Place(torch.device("cpu"), torch_dtype("float32")).window([[task, task]])
    assert batch[0] is task
    assert len(batch) == 2
