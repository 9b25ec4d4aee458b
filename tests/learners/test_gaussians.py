"""Draws from diagonal Gaussians and their divergence, against torch.distributions."""

import torch
from torch.distributions import Normal, kl_divergence

from tests.oracles.compare import assert_close
from towpath.learners.gaussians import divergence, reparameterised


def numbers(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_divergence_is_that_of_torch_distributions():
    m, s, prior_m, prior_s = (numbers(seed, 3, 4) for seed in range(4))
    expected = kl_divergence(Normal(m, s.exp()), Normal(prior_m, prior_s.exp())).sum()
    assert_close(divergence(m, s, prior_m, prior_s), expected, 1e-12)
    assert float(divergence(m, s, m, s)) == 0.0


def test_a_draw_is_mean_plus_std_times_noise_and_carries_both_gradients():
    mean, std = numbers(0, 5).requires_grad_(), numbers(1, 5).exp().requires_grad_()
    torch.manual_seed(3)
    drawn = reparameterised(mean, std)
    torch.manual_seed(3)
    noise = torch.randn(5, dtype=torch.float64)
    assert_close(drawn.detach(), (mean + std * noise).detach(), 1e-14)
    by_mean, by_std = torch.autograd.grad(drawn.sum(), [mean, std])
    assert torch.equal(by_mean, torch.ones(5, dtype=torch.float64))
    assert torch.equal(by_std, noise)
