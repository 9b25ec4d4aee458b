"""The map from actions to weights, and its derivative against autograd."""

import pytest
import torch

from towpath.weighters.tow.actions import ACTIONS, SoftmaxActions


@pytest.mark.parametrize("name", ACTIONS)
def test_the_derivative_through_the_weights_is_that_of_autograd(name):
    g = torch.Generator().manual_seed(0)
    u, J = (torch.randn(*s, dtype=torch.float64, generator=g) for s in ((4,), (4, 3)))
    actions = ACTIONS[name]
    dw_du = torch.func.jacrev(actions.weights)(u)
    expected = dw_du.T @ J
    torch.testing.assert_close(actions.through(J, actions.weights(u)), expected)


def test_held_tasks_have_no_part_in_a_softmax():
    held = torch.tensor([False, True, False])
    w = SoftmaxActions().weights(torch.tensor([1.0, 50.0, 1.0]), held)
    assert w.tolist() == [0.5, 0.0, 0.5]
