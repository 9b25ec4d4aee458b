"""From what a user passes as `loss` to a loss."""

import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.losses.test_named import LABELS, NUMBERS, OUTPUTS, YES, W
from towpath.losses import CrossEntropy, CustomLoss, class_loss, loss_of, number_loss

MODULES = {
    "CrossEntropyLoss": (nn.CrossEntropyLoss(W, label_smoothing=0.1), OUTPUTS, LABELS),
    "CrossEntropyLoss sum": (nn.CrossEntropyLoss(reduction="sum"), OUTPUTS, LABELS),
    "MSELoss": (nn.MSELoss(), OUTPUTS, NUMBERS),
    "HuberLoss": (nn.HuberLoss(delta=0.3), OUTPUTS, NUMBERS),
    "SmoothL1Loss": (nn.SmoothL1Loss(beta=0.3), OUTPUTS, NUMBERS),
    "NLLLoss": (nn.NLLLoss(W), OUTPUTS.log_softmax(1), LABELS),
    "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss(pos_weight=W), OUTPUTS, YES),
    "BCEWithLogitsLoss of samples": (nn.BCEWithLogitsLoss(weight=YES + 1), OUTPUTS, YES),
    "MultiMarginLoss": (nn.MultiMarginLoss(), OUTPUTS, LABELS),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_torch_keeps_its_value_and_its_options(name):
    module, outputs, targets = MODULES[name]
    loss = loss_of(module)
    assert torch.equal(loss.value(outputs, targets), module(outputs, targets))
    assert loss.classifies == (not targets.is_floating_point())
    other = pickle.loads(pickle.dumps(loss))
    assert torch.equal(other.value(outputs, targets), module(outputs, targets))


def test_ignored_labels_of_a_module_do_not_count():
    labels = LABELS.clone()
    labels[1] = -100
    kept = [0, 2, 3, 4]
    loss = loss_of(nn.CrossEntropyLoss())
    assert float(loss.value(OUTPUTS, labels)) == pytest.approx(
        float(F.cross_entropy(OUTPUTS[kept], labels[kept]))
    )
    # the closed form would count the ignored sample
    assert loss.factor(OUTPUTS, labels) is None
    assert loss.factor(OUTPUTS, LABELS) is not None


def test_a_loss_stays_itself_and_a_name_may_have_options():
    loss = CrossEntropy(label_smoothing=0.1)
    assert loss_of(loss) is loss
    assert loss_of({"name": "cross_entropy", "label_smoothing": 0.1}) == loss
    assert loss_of(nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=-1)) == CrossEntropy(
        None, 0.1, -1
    )


def test_any_function_is_a_loss_if_it_returns_one_number():
    loss = loss_of(F.l1_loss)
    assert (loss.name, loss.classifies, loss.regresses) == ("l1_loss", False, False)
    assert torch.equal(loss.value(OUTPUTS, NUMBERS), F.l1_loss(OUTPUTS, NUMBERS))
    for wrong in (nn.L1Loss(reduction="none"), lambda f, y: float((f - y).sum())):
        with pytest.raises(ValueError, match=r"expected a tensor with one number.*mean"):
            loss_of(wrong).value(OUTPUTS, NUMBERS)


def test_what_the_outputs_of_a_function_mean_follows_from_the_tasks():
    def own(f, y):
        return (f - y).abs().mean()

    assert class_loss(own).classifies
    assert number_loss(own).regresses
    with pytest.raises(ValueError, match="expected a loss of labels"):
        class_loss("mse")
    with pytest.raises(ValueError, match="expected a loss of labels"):
        class_loss("bce")
    with pytest.raises(ValueError, match="expected a loss of labels"):
        class_loss(CustomLoss(own, regresses=True))
    with pytest.raises(ValueError, match="expected a loss of numbers"):
        number_loss("nll")


@pytest.mark.parametrize(
    "wrong", ["mae", None, 3, ["mse"], nn.CrossEntropyLoss, {}, {"name": ["mse"]}]
)
def test_anything_else_is_refused(wrong):
    with pytest.raises(ValueError, match=r"Found loss=.*; expected one of bce, cross_entropy"):
        loss_of(wrong)


def test_wrong_options_and_spellings_are_told():
    with pytest.raises(ValueError, match=r"options \['smoothing'\].*label_smoothing"):
        loss_of({"name": "cross_entropy", "smoothing": 0.1})
    with pytest.raises(ValueError, match="Did you mean 'cross_entropy'"):
        loss_of("crossentropy")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "huber", "delta": "1"}, r"\{'delta': '1'\} of loss='huber'; expected numbers"),
        ({"name": "cross_entropy", "weight": 3}, r"\{'weight': 3\} .*; expected .*list of numbers"),
        ({"name": "nll", "ignore_index": "0"}, r"Found ignore_index='0'; expected a whole number"),
    ],
)
def test_an_option_of_another_type_is_told_with_its_value(wrong, said):
    with pytest.raises(ValueError, match=said):
        loss_of(wrong)
