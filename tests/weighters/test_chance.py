"""`above-chance`: tasks that are classified no better than by guessing are left out."""

import math

import pytest
import torch
from scipy import stats

import towpath as tp


def task(ways, query, floats=False):
    y = torch.arange(ways).repeat(query)
    x = torch.zeros(len(y), 1)
    y = y.double()[:, None] if floats else y
    return tp.Episode(x, y, x, y)


def weights(accuracies, tasks, margin=1.0):
    losses = torch.ones(len(tasks), dtype=torch.float64)
    batch = tp.MiniBatch(
        losses, losses[:, None], tasks=tasks, accuracies=torch.tensor(accuracies).double()
    )
    return tp.AboveChance(margin).weights(batch, {})[0].tolist()


def test_the_threshold_is_chance_and_so_many_deviations_of_a_guess():
    # five classes, 25 query samples: 0.2 + 0.08, and the deviation is the binomial's
    assert stats.binom(25, 0.2).std() / 25 == pytest.approx(0.08)
    five = [task(5, 5)] * 3
    assert weights([0.28, 0.24, 0.2], five) == [1, 0, 0]
    assert weights([0.28, 0.24, 0.2], five, margin=0.0) == pytest.approx([1 / 3] * 3)
    assert weights([0.36, 0.28, 0.2], five, margin=2.0) == [1, 0, 0]


def test_each_task_has_the_chance_of_its_own_classes_and_samples():
    tasks = [task(2, 8), task(10, 2), task(2, 128)]
    assert weights([0.6, 0.2, 0.56], tasks) == pytest.approx([0, 0.5, 0.5])


def test_where_no_task_is_above_chance_all_are_kept():
    assert weights([0.2, 0.1], [task(5, 5)] * 2) == [0.5, 0.5]


def test_tasks_without_classes_or_of_another_kind_are_kept():
    tasks = [task(5, 5), task(3, 4, floats=True), (torch.zeros(1), torch.zeros(1))]
    assert weights([0.0, math.nan, math.nan], tasks) == [0, 0.5, 0.5]


def test_a_real_plan_drops_the_task_whose_labels_are_shuffled():
    generator = torch.Generator().manual_seed(0)

    def blobs(shuffled):
        y = torch.arange(4).repeat(6)
        x = 4.0 * torch.eye(4)[y] + 0.1 * torch.randn(24, 4, generator=generator)
        query_y = y.roll(1) if shuffled else y  # every query label is wrong
        return tp.Episode(x[:4], y[:4], x, query_y)

    model = torch.nn.Linear(4, 4, bias=False)
    torch.nn.init.eye_(model.weight)
    objective = tp.Objective(tp.learners.ProtoNet(model))
    window = [[blobs(False), blobs(True), blobs(False)]]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = tp.AboveChance().plan(objective, model, optimizer, window)
    assert plan.weights.tolist() == [[0.5, 0.0, 0.5]]


def test_numbers_have_no_accuracy_and_a_plan_says_so():
    x = torch.arange(8.0)[:, None]
    tasks = [tp.Episode(x, k * x, x, k * x) for k in (1.0, 2.0)]
    model = torch.nn.Linear(1, 1)
    objective = tp.Objective(tp.learners.MAML(model, loss="mse", adaptation_steps=1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    plan = tp.AboveChance().plan(objective, model, optimizer, [tasks])
    assert plan.status is tp.Status.NOTHING_TO_JUDGE
    assert plan.weights.tolist() == [[0.5, 0.5]]
    assert tp.Evidence().plan(objective, model, optimizer, [tasks]).status is tp.Status.RULE


def test_a_margin_below_zero_is_refused():
    with pytest.raises(ValueError, match="margin"):
        tp.AboveChance(margin=-1.0)


def linear(params, task):
    """Class scores for a task that is a pair of tensors."""
    x, y = task
    return x @ params["w"], y


@pytest.mark.parametrize(
    ("rule", "loss", "judges"),
    [
        (tp.AboveChance(), "cross_entropy", False),  # no tp.Episode, so chance is not known
        (tp.Evidence(), "cross_entropy", True),
        (tp.Evidence(), torch.nn.CrossEntropyLoss(label_smoothing=0.1), True),
        (tp.Evidence(), lambda f, y: torch.nn.functional.cross_entropy(f, y), False),
        (tp.Uniform(), "cross_entropy", True),
    ],
)
def test_a_plan_says_where_the_rule_could_judge_no_task(rule, loss, judges):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(12, 3, generator=generator)
    pair = (x, torch.arange(12) % 2)
    params = {"w": torch.randn(3, 2, generator=generator)}
    objective = tp.Objective.from_function(linear, loss=loss)
    optimizer = tp.SGD(lr=0.1).init(params)
    alone = rule.plan(objective, params, optimizer, [[pair, pair]] * 2)
    raced = tp.Race({"first": rule, "random": tp.Random()}).plan(
        objective, params, optimizer, [[pair, pair]] * 2
    )
    expected = tp.Status.RULE if judges else tp.Status.NOTHING_TO_JUDGE
    assert (alone.status, raced.status) == (expected, expected)
    assert judges or "wrap tasks in tp.Episode" in str(alone)
    assert not alone.status.failed
