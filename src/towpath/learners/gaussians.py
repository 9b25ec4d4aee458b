"""Diagonal Gaussians, by which learners express that they are not sure: draws and divergences."""

import torch
from torch import Tensor


def reparameterised(mean: Tensor, std: Tensor) -> Tensor:
    """Return a draw from N(mean, std^2) that is differentiable in both."""
    return torch.addcmul(mean, std, torch.randn_like(mean))


def divergence(mean: Tensor, log_std: Tensor, prior_mean: Tensor, prior_log_std: Tensor) -> Tensor:
    """Return the sum over all entries of KL(N(mean, std^2) || N(prior_mean, prior_std^2)).

    Args:
        mean: the means of the first Gaussian.
        log_std: the logarithms of its standard deviations.
        prior_mean: the means of the second one.
        prior_log_std: the logarithms of its standard deviations.
    """
    ratio = log_std - prior_log_std
    distance = (mean - prior_mean) * (-prior_log_std).exp()
    return (0.5 * ((2 * ratio).exp() + distance.square() - 1) - ratio).sum()
