"""Tasks that hold the samples of an earlier one."""

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


def test_tasks_that_say_other_things_of_the_same_samples_are_not_the_same():
    x = torch.arange(6.0)[:, None]
    labels = [torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([0, 1, 0, 1, 0, 1])]
    renamed = 1 - labels[0]
    one, other, again = (Episode(x[:2], y[:2], x[2:], y[2:]) for y in (*labels, renamed))
    assert repeated([one, other]).same == {}
    assert repeated([one, again]).same == {1: 0}
    numbers = [Episode(x[:2], y[:2], x[2:], y[2:]) for y in (x[:, 0], x[:, 0] ** 2, x[:, 0])]
    assert repeated(numbers).same == {2: 0}


def test_columns_of_a_table_are_other_tasks_on_the_same_rows():
    x, y = torch.arange(6.0)[:, None], torch.arange(6) % 2
    tasks = [Episode(x[:2], y[:2], x[2:], y[2:], {"task": name}) for name in ("a", "b")]
    moved = Episode(x[:2], 1 - y[:2], x[2:], y[2:], {"task": "b"})
    assert repeated(tasks).same == {1: 0}  # two columns that agree in everything
    assert repeated([tasks[0], moved]).mostly == {}
    scaled = [Episode(x[:k], x[:k, 0] * k, x[k:], x[k:, 0] * k, {"task": "a"}) for k in (2, 3)]
    assert repeated(scaled).same == {1: 0}  # numbers are scaled by the support set


def test_half_precision_is_compared_as_well():
    assert repeated([task(0, 1, 2), task(0, 1, 2)]).same == {1: 0}
    half = [
        Episode(*(part.bfloat16() if part.is_floating_point() else part for part in parts))
        for parts in [(t.support_x, t.support_y, t.query_x, t.query_y) for t in [task(0, 1, 2)] * 2]
    ]
    assert repeated(half).same == {1: 0}
