"""The metrics of tasks: loss and accuracy as in training, others where they suit, over ranks."""

import math

import pytest
import torch
from torch import nn

import towpath as tp
from tests.learners.tasks import classification, regression
from towpath.backbones import MLP
from towpath.distributed.ranks import Ranks
from towpath.label_evidence import LABEL_EVIDENCE
from towpath.learners import MAML, ProtoNet
from towpath.losses import class_loss
from towpath.metrics import ACCURACY, AVERAGE_PRECISION, LOSS, METRICS, R2, RMSE, ROC_AUC
from towpath.objective.measuring import TaskMeasured, shared

ALL = list(METRICS.values())


def protonet(dtype=torch.float32):
    torch.manual_seed(0)
    return ProtoNet(nn.Sequential(nn.Linear(4, 5), nn.Tanh()).to(dtype))


@pytest.mark.parametrize("workers", [1, 2])
def test_loss_and_accuracy_are_those_of_training_to_the_bit(workers):
    learner = protonet()
    objective = tp.Objective(learner, workers=workers)
    tasks = [classification((1, 2), query=5, seed=i, dtype=torch.float32) for i in range(5)]
    found = objective.measure(learner.parameters(), tasks, ALL)
    assert list(found) == [ACCURACY, ROC_AUC, AVERAGE_PRECISION, LOSS]
    trained_on = objective.evaluate(learner.parameters(), tasks)
    assert trained_on.accuracies is not None
    assert found[LOSS] == trained_on.losses.tolist()
    assert found[ACCURACY] == trained_on.accuracies.tolist()


def test_two_class_metrics_are_of_the_query_outputs():
    learner = protonet(torch.float64)
    tasks = [classification((2, 2), query=6, seed=i) for i in range(3)]
    found = tp.Objective(learner).measure(learner.parameters(), tasks, [ROC_AUC])
    assert list(found) == [ROC_AUC]
    for value, task in zip(found[ROC_AUC], tasks, strict=True):
        p = learner(learner.parameters(), task).softmax(-1)[:, 1]
        ups, downs = p[task.query_y == 1], p[task.query_y == 0]
        expected = float((ups[:, None] > downs).double().mean())
        assert value == pytest.approx(expected, rel=1e-12)


def test_a_metric_that_does_not_suit_one_task_is_left_out():
    learner = protonet(torch.float64)
    objective = tp.Objective(learner)
    both = [classification((1, 1)), classification((1, 1, 1))]
    assert list(objective.measure(learner.parameters(), both, ALL)) == [ACCURACY, LOSS]
    assert ROC_AUC in objective.measure(learner.parameters(), both[:1], ALL)


def test_regression_has_metrics_of_its_own():
    torch.manual_seed(0)
    learner = MAML(MLP(4, 2, hidden=(5,)).double(), adaptation_steps=1, loss="mse")
    task = regression(seed=1)
    found = tp.Objective(learner).measure(learner.parameters(), [task], ALL)
    assert list(found) == [R2, RMSE, LOSS]
    error = (learner(learner.parameters(), task) - task.query_y).detach() ** 2
    spread = (task.query_y - task.query_y.mean(0)) ** 2
    assert found[RMSE] == [pytest.approx(float(error.mean().sqrt()), rel=1e-12)]
    assert found[R2] == [pytest.approx(1 - float(error.sum() / spread.sum()), rel=1e-12)]


def test_class_probabilities_as_targets_have_a_loss_alone():
    def fn(params, task):
        return task @ params["w"], torch.tensor([[0.25, 0.75]] * len(task))

    objective = tp.Objective.from_function(fn)
    found = objective.measure({"w": torch.ones(3, 2)}, [torch.ones(4, 3)], ALL)
    assert list(found) == [LOSS]


def test_one_class_in_the_query_is_a_value_that_is_undefined():
    learner = protonet(torch.float64)
    task = classification((1, 1), query=3)
    alone = tp.Episode(
        task.support_x, task.support_y, task.query_x[task.query_y == 1], torch.ones(3).long()
    )
    found = tp.Objective(learner).measure(learner.parameters(), [task, alone], ALL)
    assert [math.isnan(value) for value in found[ROC_AUC]] == [False, True]


class TwoRanks(Ranks):
    """The first of two ranks, which hears from the other what it is told here."""

    def __init__(self, *others):
        super().__init__(0, 2)
        self.others = iter(others)

    def gathered(self, rows, count):
        table = torch.empty(count, rows.shape[1], dtype=rows.dtype)
        table[0::2], table[1::2] = rows, torch.tensor(next(self.others), dtype=rows.dtype)
        return table


CPU = torch.device("cpu")
NO_LABELS = [[0.0, 0.0]]


def test_ranks_tell_undefined_from_unsuited():
    # the tasks 0 and 2 are this rank's, the task 1 is the other's
    own = [TaskMeasured(row, None) for row in ([1.0, math.nan, 0.5], [2.0, 0.25, None])]
    ranks = TwoRanks([[3.0, math.nan, 0.75, 1.0, 1.0, 1.0]], NO_LABELS)
    found = shared(own, [LOSS, ROC_AUC, R2], 3, ranks, CPU).metrics
    assert list(found) == [LOSS, ROC_AUC]
    assert found[LOSS] == [1.0, 3.0, 2.0]
    assert [math.isnan(value) for value in found[ROC_AUC]] == [True, True, False]
    elsewhere = TwoRanks([[3.0, 0.0, 0.75, 1.0, 0.0, 1.0]], NO_LABELS)
    assert list(shared(own, [LOSS, ROC_AUC, R2], 3, elsewhere, CPU).metrics) == [LOSS]


@pytest.mark.parametrize("workers", [1, 2])
def test_predictions_are_counted_by_label_and_agree_with_the_accuracy(workers):
    learner = protonet(torch.float64)
    tasks = [classification((1, 2, 1), query=5, seed=i) for i in range(4)]
    objective = tp.Objective(learner, workers=workers)
    found = objective.measure_classes(learner.parameters(), tasks, [ACCURACY])
    for counts, accuracy, task in zip(found.counts, found.metrics[ACCURACY], tasks, strict=True):
        predicted = learner(learner.parameters(), task).argmax(1)
        for label in range(3):
            own = predicted[task.query_y == label].tolist()
            assert counts[label] == [own.count(other) for other in range(3)]
        assert sum(counts[k][k] for k in range(3)) / 15 == pytest.approx(accuracy)


def test_tasks_without_common_labels_have_no_counts():
    learner = protonet(torch.float64)
    both = [classification((1, 1)), classification((1, 1, 1))]
    assert tp.Objective(learner).measure_classes(learner.parameters(), both, ALL).counts is None
    regressor = MAML(MLP(4, 2, hidden=(5,)).double(), adaptation_steps=1, loss="mse")
    said = tp.Objective(regressor).measure_classes(regressor.parameters(), [regression()], ALL)
    assert said.counts is None


def test_ranks_share_their_counts_in_the_order_of_the_tasks():
    own = [TaskMeasured([0.5], torch.tensor([[i, 1], [2, 3]])) for i in (7, 9)]
    told = [[0.5, 1.0]], [[2.0, 2.0]], [[4.0, 5.0, 6.0, 8.0]]
    found = shared(own, [LOSS], 3, TwoRanks(*told), CPU)
    assert found.counts == [[[7, 1], [2, 3]], [[4, 5], [6, 8]], [[9, 1], [2, 3]]]
    others = shared(own, [LOSS], 3, TwoRanks(told[0], [[3.0, 3.0]]), CPU)
    assert others.counts is None  # the other rank's task has three ways


@pytest.mark.parametrize(
    ("loss", "ignored"),
    [
        (nn.CrossEntropyLoss(), -100),
        (nn.CrossEntropyLoss(ignore_index=-1), -1),
        (nn.CrossEntropyLoss(ignore_index=1), 1),
        (nn.CrossEntropyLoss(ignore_index=1, reduction="sum"), 1),
        (class_loss(nn.functional.cross_entropy), -100),
    ],
)
def test_samples_whose_label_is_ignored_are_left_out_of_every_metric(loss, ignored):
    torch.manual_seed(0)
    learner = MAML(MLP(4, 2, hidden=(5,)).double(), adaptation_steps=1, loss=loss)
    task = classification((2, 2), query=4)
    hidden = task.query_y.clone()
    hidden[:3] = ignored
    kept = hidden != ignored
    whole = tp.Episode(task.support_x, task.support_y, task.query_x, hidden)
    without = tp.Episode(task.support_x, task.support_y, task.query_x[kept], hidden[kept])
    objective, params = tp.Objective(learner), learner.parameters()
    metrics = [*ALL, LABEL_EVIDENCE]
    found = objective.measure_classes(params, [whole], metrics)
    expected = objective.measure_classes(params, [without], metrics)
    assert found.counts == expected.counts
    assert list(found.metrics) == list(expected.metrics)
    for metric, values in expected.metrics.items():
        assert found.metrics[metric] == pytest.approx(values, nan_ok=True)
    accuracies = objective.evaluate(params, [whole]).accuracies
    assert accuracies is not None
    assert accuracies.tolist() == expected.metrics[ACCURACY]


def test_a_task_without_a_sample_that_counts_has_no_accuracy():
    learner = MAML(MLP(4, 2, hidden=(5,)).double(), adaptation_steps=1, loss=nn.CrossEntropyLoss())
    task = classification((1, 1), query=2)
    hidden = torch.full_like(task.query_y, -100)
    empty = tp.Episode(task.support_x, task.support_y, task.query_x, hidden)
    found = tp.Objective(learner).measure_classes(learner.parameters(), [empty], ALL)
    assert all(math.isnan(values[0]) for values in found.metrics.values())
    assert found.counts == [[[0, 0], [0, 0]]]
