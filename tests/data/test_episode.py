"""An episode whose samples are dealt anew, parts of episodes, and what is no episode."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.device_reads import reads_of
from towpath.data.episode import Episode, parts


def episode(support: list[int], query: list[int], *, real: bool = False) -> Episode:
    """A task whose samples are told apart by their values."""
    n = len(support) + len(query)
    x = torch.arange(n, dtype=torch.float32).reshape(n, 1)
    y = torch.tensor([*support, *query])
    if real:
        y = y.float() / 10
    k = len(support)
    return Episode(x[:k], y[:k], x[k:], y[k:], {"index": 3})


def dealt(task: Episode, seed: int) -> Episode:
    return task.dealt(torch.Generator().manual_seed(seed))


labels = st.lists(st.integers(0, 3), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(support=labels, query=labels, seed=st.integers(0, 99))
def test_each_class_keeps_its_support_and_every_sample_its_label(support, query, seed):
    task = episode(support, query)
    other = dealt(task, seed)
    assert sorted(other.support_y.tolist()) == sorted(support)
    assert sorted(other.query_y.tolist()) == sorted(query)
    of_sample = dict(enumerate([*support, *query]))
    both = torch.cat([other.support_x, other.query_x])[:, 0].int().tolist()
    assert sorted(both) == list(of_sample)
    said = torch.cat([other.support_y, other.query_y]).tolist()
    assert said == [of_sample[i] for i in both]
    assert other.info == task.info


def test_a_deal_is_a_function_of_the_generator_and_moves_samples():
    task = episode([0, 0, 1, 1], [0] * 6 + [1] * 6)
    assert torch.equal(dealt(task, 1).support_x, dealt(task, 1).support_x)
    assert len({tuple(dealt(task, s).support_x[:, 0].tolist()) for s in range(20)}) > 10


def test_targets_that_are_real_numbers_are_dealt_without_classes():
    task = episode([1, 2, 3], [4, 5, 6, 7], real=True)
    other = dealt(task, 5)
    assert (len(other.support_y), len(other.query_y)) == (3, 4)
    assert sorted(torch.cat([other.support_y, other.query_y]).tolist()) == sorted(
        torch.cat([task.support_y, task.query_y]).tolist()
    )


@pytest.mark.parametrize("part", ["support", "query"])
def test_targets_that_are_a_single_number_are_refused(part):
    parts = {"support_x": torch.zeros(1, 3), "support_y": torch.tensor([0])}
    parts |= {"query_x": torch.zeros(1, 3), "query_y": torch.tensor([0])}
    said = rf"{part} set has inputs of shape \[1, 3\] and targets of shape \[\]; .* y\[None\]"
    with pytest.raises(ValueError, match=said):
        Episode(**{**parts, f"{part}_y": torch.tensor(0)})


@settings(max_examples=60, deadline=None)
@given(queries=st.lists(labels, min_size=1, max_size=4), share=st.floats(0.01, 1.0))
def test_a_part_keeps_the_first_samples_of_each_class(queries, share):
    tasks = [episode([0], query) for query in queries]
    for query, task, part in zip(queries, tasks, parts(tasks, share), strict=True):
        kept = [
            i
            for i, y in enumerate(query)
            if query[:i].count(y) < math.ceil(share * query.count(y) - 1e-9)
        ]
        assert part.query_y.tolist() == [query[i] for i in kept]
        assert torch.equal(part.query_x, task.query_x[kept])
        assert torch.equal(task.part(share).query_x, part.query_x)
        assert part.support_x is task.support_x
        assert part.info == task.info


def test_parts_of_real_numbers_are_the_first_samples_beside_tasks_of_classes():
    tasks = [episode([0], [0, 1, 0, 1]), episode([0], [3, 1, 2], real=True), episode([1], [1, 1])]
    assert [part.query_x.tolist() for part in parts(tasks, 0.5)] == [
        [[1.0], [2.0]],
        [[1.0], [2.0]],
        [[1.0]],
    ]


def test_the_labels_of_all_parts_are_read_at_once():
    tasks = [episode([0, 1], [0, 1, 0, 1]) for _ in range(8)]
    assert len(reads_of(lambda: parts(tasks, 0.5))) == len(reads_of(lambda: parts(tasks[:1], 0.5)))


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ValueError, match="expected a share of the query set"):
        episode([0], [0]).part(share)
