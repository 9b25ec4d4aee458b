"""Episodes of a table: rows of one task, the right labels, reproducible, and nothing leaks."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.data.tables.marked import marked_table, numbers_table
from towpath.data import DataError, EpisodeSpec, TaskStream
from towpath.data.tables import Scaling
from towpath.data.tables.sampler import TableSampler

SIZES = {"a1": (30, 20), "a2": (12, 25), "b1": (40, 40), "c1": (3, 50)}
POOL = marked_table(SIZES)
SPEC = EpisodeSpec(2, 4, 5)


def same(one, other) -> bool:
    parts = ("support_x", "support_y", "query_x", "query_y")
    return one.info == other.info and all(
        torch.equal(getattr(one, part), getattr(other, part)) for part in parts
    )


def test_an_episode_has_rows_of_one_task_with_their_own_classes():
    stream: TaskStream = TableSampler(POOL, SPEC, 3)
    starts = {task.name: task.rows for task in POOL.tasks}
    for index in range(40):
        episode = stream.episode(index)
        assert episode.support_x.shape == (8, 2)
        assert episode.query_x.shape == (10, 2)
        rows = torch.cat([episode.support_x, episode.query_x])
        assert set(rows[:, 0].int().tolist()) <= set(starts[episode.info["task"]].tolist())
        assert len(set(rows[:, 0].tolist())) == 18  # no row is support and query
        labels = torch.cat([episode.support_y, episode.query_y])
        assert torch.equal(labels, rows[:, 1].long())  # the code is the label: inactive stays 0
        assert episode.info["rows"] == [f"row {int(row)}" for row in rows[:, 0]]
        assert episode.info["labels"] == ["no", "yes"]
        assert episode.info["classes"] == [episode.info["task"]]
        assert episode.info["group"] == episode.info["task"][0] == stream.group_of(index)


def test_an_episode_depends_on_seed_stream_and_index_alone():
    one = TableSampler(POOL, SPEC, 3).episode(7)
    assert same(one, TableSampler(POOL, SPEC, 3).episode(7))
    assert same(one, pickle.loads(pickle.dumps(TableSampler(POOL, SPEC, 3))).episode(7))
    others = [
        TableSampler(POOL, SPEC, 4).episode(7),
        TableSampler(POOL, SPEC, 3, "test").episode(7),
        TableSampler(POOL, SPEC, 3).episode(8),
    ]
    assert not any(torch.equal(one.support_x, other.support_x) for other in others)


def test_inputs_are_standardised_by_the_scaling_of_the_pool():
    scaling = Scaling(np.array([10, 0.5], np.float32), np.array([2, 0.5], np.float32))
    plain = TableSampler(POOL, SPEC).episode(0).query_x
    scaled = TableSampler(replace(POOL, scaling=scaling), SPEC).episode(0).query_x
    torch.testing.assert_close(scaled, (plain - torch.tensor([10, 0.5])) / torch.tensor([2, 0.5]))


def test_every_task_is_drawn_alike_unless_groups_say_otherwise():
    frequencies = TableSampler(POOL, SPEC).group_frequencies
    assert frequencies == pytest.approx({"a": 2 / 3, "b": 1 / 3})  # c1 is too small
    uniform = TableSampler(POOL, replace(SPEC, groups="uniform"))
    assert uniform.group_frequencies == pytest.approx({"a": 0.5, "b": 0.5})
    counted = uniform.summarise(range(400))
    assert counted.groups["a"] == pytest.approx(200, abs=40)
    assert counted.classes == 800
    only = TableSampler(POOL, replace(SPEC, groups={"b": 1.0}))
    assert {only.group_of(i) for i in range(20)} == {"b"}


def test_tasks_with_too_few_rows_are_left_out_and_counted():
    (note,) = TableSampler(POOL, SPEC).notes
    assert note.startswith("1 of 4 train tasks")
    assert "'c1'" in note
    assert TableSampler(marked_table({"a1": (30, 20)}), SPEC).notes == ()
    with pytest.raises(DataError, match=r"No task .* has 2 classes of 65 rows"):
        TableSampler(POOL, EpisodeSpec(2, 60, 5))
    with pytest.raises(DataError, match="No task of the groups"):
        TableSampler(POOL, replace(SPEC, groups={"c": 1.0}))
    with pytest.raises(DataError, match="groups names 'd'"):
        TableSampler(POOL, replace(SPEC, groups={"d": 1.0}))


def test_drawn_classes_get_labels_in_random_order_and_common_ones_keep_theirs():
    many = marked_table({"a1": (9, 9, 9, 9)}, ("p", "q", "r", "s"), classes_are_drawn=True)
    drawn = [TableSampler(many, SPEC).episode(i) for i in range(60)]
    assert len({tuple(e.info["labels"]) for e in drawn}) == 12
    for episode in drawn:
        codes = [many.tasks[0].labels.index(label) for label in episode.info["labels"]]
        assert episode.support_x[:, 1].int().tolist() == [codes[y] for y in episode.support_y]
        assert episode.info["classes"] == episode.info["labels"]
    # exactly the two classes of the table, but drawn: still in both orders
    two = [TableSampler(replace(POOL, classes_are_drawn=True), SPEC).episode(i) for i in range(20)]
    assert {tuple(e.info["labels"]) for e in two} == {("no", "yes"), ("yes", "no")}
    own = replace(
        POOL, tasks=tuple(replace(t, labels=(t.name + "-", t.name + "+")) for t in POOL.tasks)
    )
    assert TableSampler(own, SPEC).common_classes == ()
    assert TableSampler(POOL, SPEC).common_classes == ("no", "yes")


def test_regression_targets_are_standardised_by_the_support_set_alone():
    pool = numbers_table({"a": 40, "b": 30}, spread=20.0)
    sampler = TableSampler(pool, EpisodeSpec(5, 6, 7), 1)
    for index in range(20):
        episode = sampler.episode(index)
        assert episode.support_y.shape == (6, 1)
        assert episode.query_y.shape == (7, 1)
        right = 10 * torch.cat([episode.support_x, episode.query_x]).double() + 50
        support = right[:6]
        mean, variance = support.mean(), support.var(unbiased=False)
        scale = ((6 * variance + 2 * 20.0**2) / 8).sqrt()
        found = torch.cat([episode.support_y, episode.query_y]).double()
        torch.testing.assert_close(found, (right - mean) / scale, atol=1e-5, rtol=1e-5)
        assert episode.info["target_mean"] == pytest.approx(mean.item())
        assert episode.info["target_scale"] == pytest.approx(scale.item())
        assert episode.info["labels"] == []


def test_noise_changes_labels_only_and_says_how_many():
    noisy = TableSampler(POOL, replace(SPEC, label_noise=0.5), 3)
    clean = TableSampler(POOL, SPEC, 3)
    wrong = 0
    for index in range(60):
        one, other = noisy.episode(index), clean.episode(index)
        assert torch.equal(one.query_x, other.query_x)
        assert torch.equal(one.support_y, other.support_y)
        changed = int((one.query_y != other.query_y).sum()) / 18
        assert one.info["wrong"] == pytest.approx(changed)
        assert one.info["mislabelled"] == (changed > 0)
        wrong += one.info["mislabelled"]
    assert 15 <= wrong <= 45
    numbers = TableSampler(numbers_table({"a": 40}), EpisodeSpec(2, 4, 5, label_noise=1.0))
    plain = TableSampler(numbers_table({"a": 40}), EpisodeSpec(2, 4, 5))
    one, other = numbers.episode(0), plain.episode(0)
    assert one.info["mislabelled"]
    assert not torch.equal(one.query_y, other.query_y)
    assert torch.equal(one.query_y.sort(0).values, other.query_y.sort(0).values)


@pytest.mark.parametrize("kind", ["images", "classes", "off-target"])
def test_noise_that_a_table_cannot_have_is_refused(kind):
    with pytest.raises(DataError, match=rf"noise_kind is '{kind}'.* query, support, flip"):
        TableSampler(POOL, replace(SPEC, label_noise=0.5, noise_kind=kind))


def test_numbers_cannot_flip():
    spec = EpisodeSpec(2, 4, 5, label_noise=0.5, noise_kind="flip")
    with pytest.raises(DataError, match=r"'flip'.* regression; expected one of query, support\."):
        TableSampler(numbers_table({"a": 40}), spec)


def test_a_negative_index_is_refused():
    with pytest.raises(DataError, match="-1 is negative"):
        TableSampler(POOL, SPEC).draw(-1)
