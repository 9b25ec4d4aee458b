"""Tasks that hold the samples of an earlier one."""

import pytest
import torch

from tests.data.makers import marked_pool
from towpath.data import EpisodeSpec, trusted_pool
from towpath.data.episode import Episode
from towpath.data.repeated import repeated


def task(*samples: int, support: int = 1) -> Episode:
    x = torch.tensor(samples, dtype=torch.float32)[:, None]
    y = torch.arange(len(samples)) % 2
    return Episode(x[:support], y[:support], x[support:], y[support:])


def test_a_task_with_the_same_samples_is_the_same_however_they_are_dealt_and_labelled():
    other_deal = task(3, 2, 1, 0, support=2)
    found = repeated([task(0, 1, 2, 3), task(4, 5, 6, 7), other_deal, task(0, 1, 2, 3)])
    assert found.same == {2: 0, 3: 0}
    assert found.mostly == {}
    assert (found.samples, found.total) == (8, 16)


def test_a_task_that_shares_half_of_its_samples_is_named_and_not_taken_for_the_same():
    found = repeated([task(0, 1, 2, 3), task(2, 3, 4, 5), task(5, 6, 7, 8), task(0, 1, 2, 9)])
    assert found.same == {}
    assert found.mostly == {1: 0, 3: 0}
    assert found.samples == 10


def test_part_of_a_task_is_not_the_whole_task():
    assert repeated([task(0, 1, 2, 3), task(0, 1, 2)]).same == {}
    assert repeated([task(0, 1, 2), task(0, 1, 2, 3)]).same == {}


def test_tasks_drawn_from_a_pool_differ_and_thousands_of_few_samples_are_quick():
    drawn = trusted_pool(marked_pool({"a": 6, "b": 9}), EpisodeSpec(3, 2, 4), 20, seed=5)
    assert repeated(drawn).same == {}
    few = [task(i % 7, i % 5, i % 3, support=1) for i in range(3000)]
    assert len(repeated(few).same) > 2000


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.uint8, torch.bool], ids=str)
def test_samples_of_every_precision_are_compared(dtype):
    eight = torch.cartesian_prod(*[torch.arange(2)] * 3).to(dtype)  # all rows of three bits
    first, second, y = eight[:4], eight[4:], torch.zeros(2, dtype=torch.long)
    tasks = [Episode(x[:2], y, x[2:], y) for x in (first, second, first.flip(0))]
    assert repeated(tasks).same == {2: 0}


def test_samples_that_are_single_numbers_are_compared():
    y = torch.arange(2)
    tasks = [Episode(torch.arange(2.0), y, torch.arange(2.0) + i, y) for i in (5, 7, 5)]
    assert repeated(tasks).same == {2: 0}
