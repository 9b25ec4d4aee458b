"""Tasks are computed by one thread each, whatever the process had before."""

import pytest
import torch

from towpath.training.threads import one_thread_a_task


def test_there_is_one_thread_inside_and_as_many_as_before_afterwards():
    before = torch.get_num_threads()
    with one_thread_a_task():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
    with pytest.raises(KeyError), one_thread_a_task():
        raise KeyError
    assert torch.get_num_threads() == before
