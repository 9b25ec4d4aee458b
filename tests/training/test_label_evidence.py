"""The evidence that labels mean something: Hoeffding's moments of shuffled labels."""

import itertools
import math

import numpy as np
import pytest
import torch

from towpath.training.label_evidence import LABEL_EVIDENCE, label_evidence, standardised


def shuffled(B):
    """The traces of B under every order of its columns."""
    rows = np.arange(len(B))
    return np.array([B[rows, list(order)].sum() for order in itertools.permutations(rows)])


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_moments_are_those_of_all_orders_of_the_labels(n):
    B = np.random.default_rng(n).normal(size=(n, n))
    traces = shuffled(B)
    expected = (np.trace(B) - traces.mean()) / traces.std()
    assert standardised(B) == pytest.approx(expected, abs=1e-12)


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
    assert label_evidence(outputs, labels) == pytest.approx(expected, abs=1e-10)


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
    assert label_evidence(outputs, targets) == pytest.approx(expected, abs=1e-10)
    flat = label_evidence(outputs[:, :1], targets[:, 0])
    assert flat == pytest.approx(label_evidence(outputs[:, :1], targets[:, :1]), abs=1e-12)


def test_labels_without_meaning_have_mean_0_and_variance_1_whatever_the_outputs_are():
    generator = torch.Generator().manual_seed(5)
    labels = torch.arange(5).repeat_interleave(5)
    for scale in (0.1, 10.0):  # unsure and overconfident
        outputs = scale * torch.randn(25, 5, generator=generator)
        drawn = [
            label_evidence(outputs, labels[torch.randperm(25, generator=generator)])
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
    assert LABEL_EVIDENCE.of(outputs, labels) == label_evidence(outputs, labels) > 1
