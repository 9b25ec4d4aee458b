"""What every loss has, a loss of the user's included."""

from typing import Any

import torch

from towpath.losses import CrossEntropy, Loss, class_rows


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


def test_samples_without_a_class_do_not_count():
    scores = torch.arange(24.0).reshape(2, 3, 4)
    labels = torch.tensor([[0, 1, -7, 3], [2, 2, -7, 0]])
    rows, counted = CrossEntropy(ignore_index=2).counted(scores, labels)
    # -7 and 3 are no classes of three outputs, and 2 is ignored
    assert counted.tolist() == [0, 1, 0]
    assert torch.equal(rows, torch.stack([scores[0, :, 0], scores[0, :, 1], scores[1, :, 3]]))
