"""What every loss has, a loss of the user's included."""

from typing import Any

import torch

from towpath.losses import Loss, class_rows


class Absolute(Loss):
    name = "absolute"

    def value(self, outputs: Any, targets: Any) -> Any:
        return (outputs - targets).abs().mean()


def test_a_new_loss_needs_its_value_alone():
    loss, outputs, targets = Absolute(), torch.ones(3, 2, 2), torch.zeros(3, 2, 2)
    assert torch.equal(loss.curved(outputs, targets), loss.value(outputs, targets))
    assert loss.factor(outputs, targets) is None
    assert loss.rows(outputs).shape == (3, 4)
    assert loss.predictions(outputs) is outputs
    assert not loss.classifies
    assert repr(loss) == "<loss absolute>"


def test_the_scores_of_one_sample_are_one_row():
    assert class_rows(torch.arange(3.0)).shape == (1, 3)
