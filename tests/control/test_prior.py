"""The prior of the actions against autograd."""

import pytest
import torch

from towpath.control import ActionPrior


@pytest.mark.parametrize("scales", [None, (1.0, 0.1, 3.0)])
def test_the_gradient_of_the_prior_is_that_of_its_cost(scales):
    prior = ActionPrior(2.5, 0.3, scales)
    u = torch.rand(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    leaf = u.clone().requires_grad_()
    each = torch.tensor(scales or (1.0,) * 3, dtype=torch.float64)[:, None]
    J = (0.5 * 2.5 * each * (leaf - 0.3) ** 2).sum()
    (expected,) = torch.autograd.grad(J, leaf)
    assert prior.cost(u) == pytest.approx(float(J.detach()))
    torch.testing.assert_close(prior.gradient(u), expected)
    assert prior.cost(torch.full((3, 4), 0.3)) == pytest.approx(0.0, abs=1e-12)
