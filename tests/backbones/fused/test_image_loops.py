"""The moments of the patches of images, and the mean and scale that follow from them."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from towpath.backbones.fused import image_loops
from towpath.backbones.fused.choice import LANES


def padded(count, height, width, seed=0):
    """Random images with a border of zeros."""
    images = np.zeros((count, height + 2, width + 2))
    images[:, 1:-1, 1:-1] = np.random.default_rng(seed).normal(1.0, 2.0, (count, height, width))
    return images


@pytest.mark.parametrize("shape", [(1, 2, 2), (3, 5, 4), (2, 28, 28), (1, 3, 9)])
def test_moments_are_those_of_all_patches(shape):
    images = padded(*shape)
    patches = functional.unfold(torch.from_numpy(images)[:, None], 3).transpose(1, 2).reshape(-1, 9)
    first, second = image_loops.moments(images)
    np.testing.assert_allclose(first, patches.sum(0), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(second, patches.T @ patches, rtol=1e-10, atol=1e-10)


def test_mean_and_scale_are_those_of_the_convolution():
    images, w = padded(3, 6, 5), np.random.default_rng(1).normal(size=(9, LANES))
    y = np.empty((3, 3, 2, LANES))
    place = np.empty(y.shape, np.uint8)
    found = image_loops.forward(images, w, np.ones(LANES), np.zeros(LANES), 1e-3, y, place)
    kernels = torch.from_numpy(np.ascontiguousarray(w.T)).reshape(LANES, 1, 3, 3)
    outputs = functional.conv2d(torch.from_numpy(images)[:, None], kernels)
    np.testing.assert_allclose(found.mean, outputs.mean((0, 2, 3)), rtol=1e-10)
    variance = outputs.var((0, 2, 3), correction=0)
    np.testing.assert_allclose(found.scale, (variance + 1e-3).rsqrt(), rtol=1e-10)
