"""The named losses: their values are torch's, their factors those of the dense Hessian."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.oracles.curvature import hessian
from towpath.losses import LOSSES, Loss, loss_of

N, C = 5, 4
GENERATOR = torch.Generator().manual_seed(0)
OUTPUTS = torch.randn(N, C, generator=GENERATOR, dtype=torch.float64)
LABELS = torch.tensor([2, 0, 3, 1, 0])
NUMBERS = torch.randn(N, C, generator=GENERATOR, dtype=torch.float64)
YES = (NUMBERS > 0).double()
WEIGHT = (0.5, 2.0, 1.0, 3.0)
W = torch.tensor(WEIGHT, dtype=torch.float64)

CASES: dict[str, tuple[dict[str, Any], Tensor, Tensor, Callable[..., Tensor]]] = {
    "cross_entropy": ({}, OUTPUTS, LABELS, F.cross_entropy),
    "cross_entropy smoothed": (
        {"label_smoothing": 0.1},
        OUTPUTS,
        LABELS,
        lambda f, y: F.cross_entropy(f, y, label_smoothing=0.1),
    ),
    "cross_entropy weighted": (
        {"weight": WEIGHT, "label_smoothing": 0.2},
        OUTPUTS,
        LABELS,
        lambda f, y: F.cross_entropy(f, y, W, label_smoothing=0.2),
    ),
    "mse": ({}, OUTPUTS, NUMBERS, F.mse_loss),
    "huber": ({"delta": 0.5}, OUTPUTS, NUMBERS, lambda f, y: F.huber_loss(f, y, delta=0.5)),
    "bce": ({}, OUTPUTS, YES, F.binary_cross_entropy_with_logits),
    "bce weighted": (
        {"pos_weight": WEIGHT},
        OUTPUTS,
        YES,
        lambda f, y: F.binary_cross_entropy_with_logits(f, y, pos_weight=W),
    ),
    "nll": ({}, OUTPUTS.log_softmax(1), LABELS, F.nll_loss),
    "nll weighted": (
        {"weight": WEIGHT},
        OUTPUTS.log_softmax(1),
        LABELS,
        lambda f, y: F.nll_loss(f, y, W),
    ),
}


def made(case: str) -> Loss:
    return loss_of({"name": case.split()[0], **CASES[case][0]})


def test_every_named_loss_is_among_the_cases():
    assert {case.split()[0] for case in CASES} == set(LOSSES)


@pytest.mark.parametrize("case", CASES)
def test_a_name_stands_for_the_loss_of_torch(case):
    _, outputs, targets, reference = CASES[case]
    assert torch.equal(made(case).value(outputs, targets), reference(outputs, targets))


@pytest.mark.parametrize("case", CASES)
def test_the_closed_form_times_its_transpose_is_the_hessian_of_one_sample(case):
    _, outputs, targets, reference = CASES[case]
    factor = made(case).factor(outputs[:1], targets[:1])
    if case not in ("cross_entropy", "cross_entropy smoothed", "mse", "nll"):
        assert factor is None
        return
    assert factor is not None
    columns = [factor.times(e[None])[0] for e in torch.eye(C, dtype=torch.float64)]
    R = torch.stack(columns, 1)
    if case == "nll":  # of the scores before the log-softmax
        reference = F.cross_entropy
    H = hessian(lambda f: reference(f[None], targets[:1]))(outputs[0])
    torch.testing.assert_close(R @ R.T, factor.count * H)


def test_class_scores_in_dimension_1_become_rows():
    scores = torch.arange(24.0).reshape(2, 3, 4)
    rows = loss_of("cross_entropy").rows(scores)
    assert rows.shape == (8, 3)
    assert rows[1].tolist() == scores[0, :, 1].tolist()
    assert loss_of("mse").rows(scores).shape == (2, 12)
    assert loss_of("mse").rows(torch.tensor(1.0)).shape == (1, 1)


def test_predictions_are_probabilities_where_the_outputs_stand_for_some():
    def read(case: str) -> Tensor:
        return made(case).predictions(CASES[case][1])

    assert torch.equal(read("cross_entropy"), OUTPUTS.softmax(1))
    torch.testing.assert_close(read("nll"), OUTPUTS.softmax(1))
    assert torch.equal(read("bce"), OUTPUTS.sigmoid())
    assert torch.equal(read("huber"), OUTPUTS)


@pytest.mark.parametrize(
    ("name", "outputs", "targets", "said"),
    [
        ("nll", OUTPUTS, LABELS, r"no log-probabilities.*log_softmax.*cross_entropy"),
        ("nll", OUTPUTS.log_softmax(1), NUMBERS, "expected integer labels"),
        ("bce", OUTPUTS[:, :1], LABELS, r"loss='bce'. Write labels as numbers"),
        ("bce", OUTPUTS, NUMBERS, "expected probabilities from 0 to 1"),
        ("huber", OUTPUTS[:, :1], NUMBERS[:, 0], "expected float targets of the outputs' shape"),
        ("cross_entropy", OUTPUTS, LABELS - 1, r"Found the label -1; .*ignore_index"),
        ("cross_entropy", OUTPUTS, LABELS + 1, r"Found labels 1..4 with 4 outputs"),
    ],
)
def test_targets_that_do_not_suit_are_refused_with_a_remedy(name, outputs, targets, said):
    with pytest.raises(ValueError, match=said):
        loss_of(name).value(outputs, targets)


@pytest.mark.parametrize("name", ["cross_entropy", "nll"])
@pytest.mark.parametrize(
    ("labels", "shape", "remedy"),
    [
        (LABELS[:, None], r"\[5, 1\]", r"labels\.reshape\(\[5\]\)"),
        (torch.nn.functional.one_hot(LABELS), r"\[5, 4\]", r"labels\.argmax\(1\)"),
        (LABELS[:3], r"\[3\]", "one label for each sample"),
        (LABELS[0], r"\[\]", "one label for each sample"),
    ],
)
def test_labels_of_another_shape_are_refused_with_the_shapes(name, labels, shape, remedy):
    said = rf"labels of shape {shape} with outputs of shape \[5, 4\]; expected .*\[5\]\. .*{remedy}"
    with pytest.raises(ValueError, match=said):
        loss_of(name).value(OUTPUTS.log_softmax(1), labels)


def test_a_single_vector_of_scores_has_one_label():
    one = loss_of("cross_entropy").value(OUTPUTS[0], LABELS[0])
    torch.testing.assert_close(one, torch.nn.functional.cross_entropy(OUTPUTS[0], LABELS[0]))


@pytest.mark.parametrize("name", ["cross_entropy", "nll"])
def test_the_classes_of_outputs_with_places_are_those_of_dimension_1(name):
    scores = torch.randn(2, 3, 5, generator=GENERATOR).log_softmax(1)
    labels = torch.zeros(2, 5, dtype=torch.long)
    labels[0, 0] = -1
    with pytest.raises(ValueError, match=r"Found the label -1; expected labels 0\.\.2\."):
        loss_of(name).value(scores, labels)
    labels[0, 0] = 4
    with pytest.raises(ValueError, match=r"labels 0\.\.4 with 3 outputs; expected labels 0\.\.2"):
        loss_of(name).value(scores, labels)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "cross_entropy", "label_smoothing": 1.5},
        {"name": "cross_entropy", "weight": [-1.0, 1.0]},
        {"name": "huber", "delta": 0.0},
    ],
)
def test_options_out_of_their_range_are_refused(wrong):
    with pytest.raises(ValueError, match=r"Found .*; expected"):
        loss_of(wrong)


@pytest.mark.parametrize(
    ("wrong", "outputs", "targets"),
    [
        ({"name": "cross_entropy", "weight": WEIGHT[:2]}, OUTPUTS, LABELS),
        ({"name": "nll", "weight": WEIGHT[:2]}, OUTPUTS.log_softmax(1), LABELS),
        ({"name": "bce", "pos_weight": WEIGHT[:2]}, OUTPUTS, YES),
    ],
)
def test_weights_of_another_length_are_told(wrong, outputs, targets):
    with pytest.raises(ValueError, match=r"Found 2 numbers as (pos_)?weight .*; expected .*4"):
        loss_of(wrong).value(outputs, targets)


def test_one_weight_of_positive_samples_is_that_of_every_output():
    found = loss_of({"name": "bce", "pos_weight": [2.0]}).value(OUTPUTS, YES)
    two = torch.full((C,), 2.0, dtype=torch.float64)
    assert torch.equal(found, F.binary_cross_entropy_with_logits(OUTPUTS, YES, pos_weight=two))


@pytest.mark.parametrize("name", ["cross_entropy", "nll"])
def test_labels_of_another_type_are_told_with_the_cure(name):
    outputs = OUTPUTS.log_softmax(1)
    with pytest.raises(ValueError, match=r"Found torch\.int32 labels; expected .*labels\.long"):
        loss_of(name).value(outputs, LABELS.int())
    assert torch.equal(loss_of(name).value(outputs, LABELS.byte()), F.nll_loss(outputs, LABELS))
