"""The labels of a mini-batch are read once, and wrong ones are told as they always were."""

import copy

import pytest
import torch
from torch import nn

import towpath as tp
from tests.device_reads import reads_of
from tests.learners.tasks import classification, regression
from towpath.objective.labels import MOST, labels_of


def same(found: object, expected: list[torch.Tensor]) -> bool:
    found = list(labels_of(found))
    return len(found) == len(expected) and all(a is b for a, b in zip(found, expected, strict=True))


def test_labels_are_found_in_episodes_and_in_tasks_of_the_users():
    x, y, z = torch.zeros(3, 2), torch.tensor([0, 1, 2]), torch.tensor([1, 0, 1], dtype=torch.uint8)
    task = classification()
    assert same(task, [task.support_y, task.query_y])
    assert same((x, y), [y])
    assert same([x, y, z], [y, z])
    assert same({"x": x, "labels": y}, [y])
    for other in (
        regression(),
        x,
        None,
        "task",
        (x, x[:, 0]),
        (y[None], y[:0], torch.arange(MOST + 1)),
        {"x": x, "neighbours": y.to_sparse()},
    ):
        assert same(other, [])


def linear(params, task):
    x, y = task
    return x @ params["w"], y


def test_a_task_function_that_returns_its_labels_takes_as_many_reads_for_any_number_of_tasks():
    objective, params = tp.Objective.from_function(linear), {"w": torch.ones(2, 3)}
    tasks = [(torch.ones(4, 2), torch.tensor([0, 1, 2, 1])) for _ in range(12)]
    objective.evaluate(params, tasks)
    few = reads_of(lambda: objective.evaluate(params, tasks[:4]))
    many = reads_of(lambda: objective.evaluate(params, tasks))
    assert len(few) == len(many)


def episode(labels: torch.Tensor, part: str) -> tp.Episode:
    task = copy.copy(classification((1, 1, 1), dtype=torch.float32))
    object.__setattr__(task, f"{part}_y", labels)
    return task


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("part", "labels", "told"),
    [
        ("support", [0, 1, 3], r"Found no support sample of the classes \[2\]"),
        ("support", [0, 1, -2], "Found the support label -2"),
        ("query", [0, 1, 2, 0, 1, -1], "Found the label -1"),
        ("query", [0, 1, 2, 0, 1, 3], r"Found labels 0\.\.3 with 3 outputs"),
    ],
)
def test_wrong_labels_are_told_with_the_number_of_their_task(part, labels, told, workers):
    learner = tp.learners.ProtoNet(nn.Linear(4, 2))
    tasks = [classification((1, 1, 1), seed=i, dtype=torch.float32) for i in range(4)]
    objective, params = tp.Objective(learner, workers=workers), learner.parameters()
    objective.evaluate(params, tasks)  # later evaluations are in parallel
    tasks[2] = episode(torch.tensor(labels), part)
    with pytest.raises(ValueError, match=told) as caught:
        objective.evaluate(params, tasks)
    assert caught.value.__notes__ == ["towpath: raised by task 2 of the mini-batch"]


def test_labels_that_became_wrong_between_two_evaluations_are_noticed():
    learner = tp.learners.ProtoNet(nn.Linear(4, 2))
    task, objective = classification((1, 1, 1), dtype=torch.float32), tp.Objective(learner)
    objective.evaluate(learner.parameters(), [task])
    task.query_y.numpy()[0] = -1  # torch does not notice this
    with pytest.raises(ValueError, match="Found the label -1"):
        objective.evaluate(learner.parameters(), [task])
