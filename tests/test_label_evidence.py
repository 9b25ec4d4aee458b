"""The evidence that labels mean something: Hoeffding's moments of shuffled labels."""

import itertools
import math

import numpy as np
import pytest
import torch

import towpath as tp
from towpath.label_evidence import LABEL_EVIDENCE, label_evidence, label_evidences


def standardised(B):
    """How far the trace of B lies above that of its columns in all n! orders."""
    rows = np.arange(len(B))
    traces = np.array([B[rows, list(order)].sum() for order in itertools.permutations(rows)])
    return (np.trace(B) - traces.mean()) / traces.std()


@pytest.mark.parametrize("n", [2, 3, 5, 6])
@pytest.mark.parametrize("C", [2, 3, 7])
def test_classes_are_compared_with_all_orders_of_the_labels(n, C):
    generator = torch.Generator().manual_seed(10 * n + C)
    outputs = torch.randn(n, C, generator=generator, dtype=torch.float64)
    labels = torch.randint(C, (n,), generator=generator)
    labels[0], labels[1] = 0, 1  # not all alike
    B = outputs.log_softmax(-1)[:, labels].numpy()
    assert float(label_evidence(outputs, labels)) == pytest.approx(standardised(B), abs=1e-10)


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("d", [1, 2, 9])
def test_numbers_are_compared_with_all_orders_of_the_targets(n, d):
    generator = torch.Generator().manual_seed(10 * n + d)
    f, y = torch.randn(2, n, d, generator=generator, dtype=torch.float64)
    B = -(f[:, None] - y[None]).square().sum(-1).numpy()
    assert float(label_evidence(f, y)) == pytest.approx(standardised(B), abs=1e-10)


def test_several_tasks_at_once_have_the_evidence_of_each_alone():
    generator = torch.Generator().manual_seed(2)
    tasks = []
    for n, C in ((6, 3), (4, 2), (6, 3), (1, 3)):
        outputs = torch.randn(n, C, generator=generator, dtype=torch.float64)
        tasks += [(outputs, torch.arange(n) % C), None]
    numbers = torch.randn(2, 5, 1, generator=generator, dtype=torch.float64)
    tasks.append((numbers[0], numbers[1, :, 0]))
    for task, found in zip(tasks, label_evidences(tasks), strict=True):
        if task is None:
            assert found is None
        else:
            torch.testing.assert_close(found, label_evidence(*task), equal_nan=True)


def test_labels_of_any_integer_type_are_taken():
    outputs = torch.randn(6, 3, generator=torch.Generator().manual_seed(8))
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    expected = label_evidence(outputs, labels)
    for dtype in (torch.uint8, torch.int16, torch.int32):
        assert torch.equal(label_evidence(outputs, labels.to(dtype)), expected)


def test_a_class_that_no_sample_has_may_be_masked():
    outputs = torch.randn(6, 3, generator=torch.Generator().manual_seed(9))
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    masked = torch.cat([outputs, torch.full((6, 1), -math.inf)], 1)
    found, expected = label_evidence(masked, labels), label_evidence(outputs, labels)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("offset", [0.0, 293.0, 1e4])
def test_numbers_about_a_large_mean_are_told_apart_in_single_precision(offset):
    generator = torch.Generator().manual_seed(10)
    targets = offset + 4 * torch.randn(20, 1, generator=generator, dtype=torch.float64)
    outputs = offset + 0.5 * (targets - offset)
    outputs += torch.randn(20, 1, generator=generator, dtype=torch.float64)
    expected = float(label_evidence(outputs, targets))
    assert expected > 2
    assert float(label_evidence(outputs.float(), targets.float())) == pytest.approx(
        expected, rel=1e-2
    )


def test_single_precision_agrees_with_double():
    generator = torch.Generator().manual_seed(1)
    outputs = 5 * torch.randn(75, 5, generator=generator)
    labels = torch.arange(5).repeat_interleave(15)
    double = float(label_evidence(outputs.double(), labels))
    assert float(label_evidence(outputs, labels)) == pytest.approx(double, abs=1e-4)
    assert label_evidence(outputs.half(), labels).dtype == torch.float32


def test_labels_of_a_classification_are_compared_by_log_probabilities():
    generator = torch.Generator().manual_seed(3)
    outputs = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    losses = np.array(
        [
            -float(torch.nn.functional.cross_entropy(outputs, labels[list(order)], reduction="sum"))
            for order in itertools.permutations(range(6))
        ]
    )
    expected = (losses[0] - losses.mean()) / losses.std()
    assert float(label_evidence(outputs, labels)) == pytest.approx(expected, abs=1e-10)


def test_targets_of_a_regression_are_compared_by_squared_errors():
    generator = torch.Generator().manual_seed(4)
    outputs = torch.randn(5, 2, generator=generator, dtype=torch.float64)
    targets = outputs + 0.1 * torch.randn(5, 2, generator=generator, dtype=torch.float64)
    losses = np.array(
        [
            -float((outputs - targets[list(order)]).square().sum())
            for order in itertools.permutations(range(5))
        ]
    )
    expected = (losses[0] - losses.mean()) / losses.std()
    assert float(label_evidence(outputs, targets)) == pytest.approx(expected, abs=1e-10)
    flat = label_evidence(outputs[:, :1], targets[:, 0])
    assert float(flat) == pytest.approx(float(label_evidence(outputs[:, :1], targets[:, :1])))


def test_labels_without_meaning_have_mean_0_and_variance_1_whatever_the_outputs_are():
    generator = torch.Generator().manual_seed(5)
    labels = torch.arange(5).repeat_interleave(5)
    for scale in (0.1, 10.0):  # unsure and overconfident
        outputs = scale * torch.randn(25, 5, generator=generator)
        drawn = [
            float(label_evidence(outputs, labels[torch.randperm(25, generator=generator)]))
            for _ in range(2000)
        ]
        assert abs(np.mean(drawn)) < 0.08
        assert np.var(drawn) == pytest.approx(1.0, abs=0.12)
        right = torch.nn.functional.one_hot(labels).float()
        assert label_evidence(outputs + 5 * scale * right, labels) > 6


def test_the_evidence_is_undefined_where_labels_cannot_be_shuffled():
    outputs = torch.randn(4, 3, generator=torch.Generator().manual_seed(6))
    assert math.isnan(label_evidence(outputs, torch.tensor([1, 1, 1, 1])))
    assert math.isnan(label_evidence(outputs[:1], torch.tensor([1])))
    assert math.isnan(label_evidence(torch.full((4, 3), math.nan), torch.tensor([0, 1, 2, 0])))
    assert math.isnan(label_evidence(torch.zeros(4, 3), torch.tensor([0, 1, 2, 0])))


def test_the_evidence_is_a_metric_that_an_objective_can_measure():
    assert LABEL_EVIDENCE.suits(5)
    assert LABEL_EVIDENCE.suits(None)
    labels = torch.tensor([0, 1, 0, 1])
    outputs = torch.nn.functional.one_hot(labels).float()
    found = LABEL_EVIDENCE.of(outputs, labels)
    assert found == pytest.approx(label_evidence(outputs, labels).item())
    assert found > 1


def evaluated(loss, outputs, targets):
    """The evidence of a task as an objective finds it, whose parameters are the outputs."""
    objective = tp.Objective.from_function(lambda params, _: (params["f"], targets), loss=loss)
    return float(objective.evaluate({"f": outputs}, [None]).evidence)


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 3)])
def test_yes_or_no_questions_are_compared_by_their_likelihood(shape):
    generator = torch.Generator().manual_seed(len(shape) + shape[-1])
    f = torch.randn(shape, generator=generator, dtype=torch.float64)
    y = torch.rand(shape, generator=generator, dtype=torch.float64).round()
    y.view(6, -1)[:2] = torch.tensor([[0.0], [1.0]])  # not all alike
    log_p, log_q = (torch.nn.functional.logsigmoid(s * f).view(6, 1, -1) for s in (1, -1))
    B = (y.view(1, 6, -1) * log_p + (1 - y.view(1, 6, -1)) * log_q).sum(-1).numpy()
    assert evaluated("bce", f, y) == pytest.approx(standardised(B), abs=1e-10)


def test_class_probabilities_are_compared_by_their_cross_entropy():
    generator = torch.Generator().manual_seed(4)
    f, y = torch.randn(2, 6, 3, generator=generator, dtype=torch.float64)
    y = y.softmax(-1)
    B = (f.log_softmax(-1) @ y.T).numpy()
    assert evaluated("cross_entropy", f, y) == pytest.approx(standardised(B), abs=1e-10)
    labels = torch.arange(6) % 3
    soft = 0.9 * torch.eye(3, dtype=torch.float64)[labels] + 0.1 / 3
    smoothed = {"name": "cross_entropy", "label_smoothing": 0.1}
    assert evaluated(smoothed, f, labels) == pytest.approx(evaluated("cross_entropy", f, soft))
