"""A first block in one pass is convolution, batch norm, pooling and ReLU of grey images."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional
from torch.testing import assert_close

from tests.backbones.fused.test_norm_block import derivatives
from towpath.backbones.fused.image_block import first_block
from towpath.backbones.fused.norm_block import by_torch

EPS = 1e-5


def pair(images):
    """The fused block and torch's, as functions of kernels, gains and biases."""

    def torchs(w, gamma, beta):
        return by_torch(functional.conv2d(images, w, padding=1), gamma, beta, eps=EPS)

    return partial(first_block, images, eps=EPS), torchs


def images_and_weights(shape, filters, seed=0, dtype=torch.float64):
    """Images and the block's parameters, gains of both signs."""
    generator = torch.Generator().manual_seed(seed)
    draw = partial(torch.randn, generator=generator, dtype=torch.float64)
    count, height, width = shape
    images = draw(count, 1, height, width).to(dtype)
    shapes = ((filters, 1, 3, 3), (filters,), (filters,))
    return images, [draw(size).to(dtype).requires_grad_() for size in shapes]


@settings(max_examples=25, deadline=None)
@given(
    st.tuples(st.integers(1, 4), st.integers(2, 11), st.integers(2, 11)),
    st.sampled_from([16, 32, 48]),
    st.integers(0, 999),
)
def test_outputs_and_three_derivatives_equal_those_of_torch(shape, filters, seed):
    images, weights = images_and_weights(shape, filters, seed)
    fused, torchs = pair(images)
    for ours, theirs in zip(
        derivatives(fused, weights, 3), derivatives(torchs, weights, 3), strict=True
    ):
        scale = max(1.0, float(theirs.detach().abs().max()))
        assert_close(ours / scale, theirs / scale, rtol=0, atol=1e-8)


def test_first_derivatives_equal_numerical_ones():
    images, weights = images_and_weights((2, 5, 4), 16)
    assert torch.autograd.gradcheck(pair(images)[0], weights)


@pytest.mark.parametrize("contrast", [1.0, 0.1, 0.01])
def test_float32_serves_for_images_of_little_contrast(contrast):
    """The variance is a difference of two moments, which are nearly equal here."""
    noise, weights = images_and_weights((20, 28, 28), 32)
    images = 1 + contrast * noise
    exact = derivatives(pair(images)[1], weights, 1)
    single = [w.detach().float().requires_grad_() for w in weights]
    ours, theirs = (derivatives(function, single, 1) for function in pair(images.float()))
    for mine, other, truth in zip(ours, theirs, exact, strict=True):
        error, reference = (
            float((part.double() - truth).detach().norm() / truth.detach().norm())
            for part in (mine, other)
        )
        assert error < 4 * reference + 2e-6


def test_images_of_one_colour_have_no_variance_inside_and_a_finite_gradient():
    images = torch.zeros(3, 1, 8, 8)
    _, weights = images_and_weights((3, 8, 8), 16, dtype=torch.float32)
    fused, torchs = pair(images)
    for ours, theirs in zip(
        derivatives(fused, weights, 1), derivatives(torchs, weights, 1), strict=True
    ):
        assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_a_pixel_that_is_not_a_number_spoils_every_channel_as_with_torch():
    images, weights = images_and_weights((2, 6, 6), 16)
    images[1, 0, 3, 2] = float("nan")
    fused, torchs = pair(images)
    with torch.no_grad():
        assert bool(fused(*weights).isnan().all())
        assert bool(torchs(*weights).isnan().all())


def test_many_gradients_at_once_equal_one_after_another():
    images, weights = images_and_weights((2, 4, 4), 16)
    y = pair(images)[0](*weights).flatten()[::7]
    rows = torch.eye(len(y), dtype=y.dtype)
    together = torch.autograd.grad(y, weights, rows, is_grads_batched=True, retain_graph=True)
    for k, row in enumerate(rows):
        single = torch.autograd.grad(y, weights, row, retain_graph=True)
        for all_rows, one in zip(together, single, strict=True):
            assert_close(all_rows[k], one, rtol=0, atol=1e-11)
