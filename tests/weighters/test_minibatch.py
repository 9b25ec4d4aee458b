"""A mini-batch as a rule sees it."""

import torch

import towpath as tp


def test_a_mini_batch_at_another_step_is_the_same_otherwise():
    computed = []

    def gradients() -> torch.Tensor:
        computed.append(1)
        return torch.ones(2, 3)

    batch = tp.MiniBatch(torch.tensor([1.0, 2.0]), gradients, [{"group": "a"}, {}], step=4)
    other = batch.at_step(9)
    assert (batch.step, other.step) == (4, 9)
    assert other.losses is batch.losses
    assert other.infos == batch.infos
    assert torch.equal(other.gradients, torch.ones(2, 3))
    assert len(computed) == 1
