"""What a task function may return, for each way to name the losses."""

import pytest
import torch

from towpath.losses import GivenLoss, LossByName, OneLoss, losses_of

F, Y = torch.ones(3, 2), torch.zeros(3, 2)
LABELS = torch.zeros(3, dtype=torch.long)


def test_one_loss_reads_a_pair():
    result = losses_of("mse").read((F, Y))
    assert float(result.value()) == 1.0
    assert isinstance(losses_of({"name": "huber", "delta": 2.0}), OneLoss)


def test_losses_by_name_read_a_triple():
    losses = losses_of({"depth": "mse", "kind": "cross_entropy"})
    assert isinstance(losses, LossByName)
    assert float(losses.read((F, Y, "depth")).value()) == 1.0
    found = losses.read((F, LABELS, "kind"))
    assert found.loss is not None
    assert found.loss.classifies
    assert losses_of(losses) is losses


def test_names_of_losses_may_be_numbers():
    losses = losses_of({0: "mse", 1: "cross_entropy"})
    assert float(losses.read((F, Y, 0)).value()) == 1.0


def test_no_loss_reads_the_loss_itself():
    losses = losses_of(None)
    assert isinstance(losses, GivenLoss)
    assert float(losses.read(F.sum().reshape(1)).value()) == 6.0


@pytest.mark.parametrize(
    ("loss", "result", "said"),
    [
        ("mse", F, r"returned Tensor; expected a pair of tensors .*loss=None"),
        ("mse", (F, Y, "depth"), r"returned \(Tensor, Tensor, str\); expected a pair"),
        ({"a": "mse"}, (F, Y), r"returned \(Tensor, Tensor\); expected \(output, target, name\)"),
        ({"a": "mse"}, (F, Y, "b"), r"returned the loss 'b'; expected one of \['a'\]"),
        ({"a": "mse"}, (F, Y, ["a"]), r"returned the loss \['a'\]; expected one of \['a'\]"),
        (None, (F, Y), r"returned \(Tensor, Tensor\); expected the loss of the task"),
        (None, F, r"returned Tensor of shape \[3, 2\]; expected the loss of the task"),
    ],
)
def test_another_result_is_told_with_what_was_expected(loss, result, said):
    with pytest.raises(ValueError, match=said):
        losses_of(loss).read(result)


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"Found loss=\['mse'\]; expected one of"):
        losses_of({"name": ["mse"]})
