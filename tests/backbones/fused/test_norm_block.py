"""Batch norm, pooling and ReLU in one pass are those of torch, with all their derivatives."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import forward_ad
from torch.testing import assert_close

from towpath.backbones.fused.norm_block import by_torch, norm_pool_relu

EPS = 1e-5
FUSED, TORCH = partial(norm_pool_relu, eps=EPS), partial(by_torch, eps=EPS)
SHAPES = st.tuples(*(st.integers(1, top) for top in (4, 5, 9, 9))).filter(
    lambda shape: min(shape[2:]) > 1
)


def inputs(shape, seed=0, dtype=torch.float64):
    """Activations, gains of both signs and biases."""
    generator = torch.Generator().manual_seed(seed)
    draw = partial(torch.randn, generator=generator, dtype=torch.float64)
    return [
        numbers.to(dtype).requires_grad_()
        for numbers in (draw(shape) * 3 + 1, draw(shape[1]), draw(shape[1]))
    ]


def derivatives(function, arguments, depth):
    """The output and the gradients of a sum that weighs it, of a sum of those, and so on."""
    found = [function(*arguments)]
    for order in range(depth):
        total = sum(
            (part * torch.linspace(-1, 2, part.numel(), dtype=part.dtype).view_as(part).cos()).sum()
            for part in (found[-1] if order else found)
        )
        found.append(
            torch.autograd.grad(total, arguments, create_graph=True, materialize_grads=True)
        )
    return [found[0], *(part for order in found[1:] for part in order)]


@settings(max_examples=40, deadline=None)
@given(SHAPES, st.integers(0, 999))
def test_outputs_and_three_derivatives_equal_those_of_torch(shape, seed):
    arguments = inputs(shape, seed)
    if shape[0] * shape[2] * shape[3] < 8:  # a few numbers normalised have steep derivatives
        arguments[0].data *= 10
    for ours, theirs in zip(
        derivatives(FUSED, arguments, 3), derivatives(TORCH, arguments, 3), strict=True
    ):
        scale = max(1.0, float(theirs.detach().abs().max()))
        assert_close(ours / scale, theirs / scale, rtol=0, atol=1e-9)


def test_second_derivatives_are_made_by_loops_and_equal_numerical_ones():
    arguments = inputs((2, 3, 4, 5))
    assert torch.autograd.gradcheck(FUSED, arguments)
    assert torch.autograd.gradgradcheck(FUSED, arguments)


@pytest.mark.parametrize("shape", [(5, 32, 14, 14), (75, 32, 7, 7), (3, 16, 3, 3)])
def test_float32_is_as_near_to_float64_as_torch_is(shape):
    exact = derivatives(TORCH, inputs(shape), 2)
    ours = derivatives(FUSED, inputs(shape, dtype=torch.float32), 2)
    theirs = derivatives(TORCH, inputs(shape, dtype=torch.float32), 2)
    for mine, other, truth in zip(ours, theirs, exact, strict=True):
        scale = truth.detach().norm().clamp_min(1e-6)
        error, reference = (
            float((part.double() - truth).detach().norm() / scale) for part in (mine, other)
        )
        assert error < 4 * reference + 2e-6


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_the_layout_in_memory_makes_no_difference(layout):
    x, gamma, beta = inputs((3, 4, 6, 6))
    again = x.detach().contiguous(memory_format=layout)
    assert torch.equal(FUSED(again, gamma, beta), FUSED(x, gamma, beta))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_spoils_its_channel_as_with_torch(wrong):
    x, gamma, beta = inputs((2, 3, 4, 4))
    with torch.no_grad():
        x[1, 2, 3, 0] = wrong
        ours, theirs = FUSED(x, gamma, beta), TORCH(x, gamma, beta)
    assert bool(ours[:, 2].isnan().all())
    assert_close(ours, theirs, equal_nan=True)


def test_many_gradients_at_once_equal_one_after_another():
    arguments = inputs((2, 3, 4, 4))
    y = FUSED(*arguments).flatten()
    rows = torch.eye(len(y), dtype=y.dtype)
    together = torch.autograd.grad(y, arguments, rows, is_grads_batched=True, retain_graph=True)
    for k, row in enumerate(rows):
        single = torch.autograd.grad(y, arguments, row, retain_graph=True)
        for all_rows, one in zip(together, single, strict=True):
            assert_close(all_rows[k], one, rtol=0, atol=1e-12)


def test_many_second_gradients_at_once_equal_one_after_another():
    x, gamma, beta = inputs((2, 3, 4, 4))
    for chosen in (gamma, beta, x):
        y = FUSED(x, gamma, beta)
        total = (y * torch.linspace(-1, 2, y.numel(), dtype=y.dtype).view_as(y)).square().sum()
        (first,) = torch.autograd.grad(total, chosen, create_graph=True)
        flat = first.flatten()[:5]
        rows = torch.eye(len(flat), dtype=y.dtype)
        (together,) = torch.autograd.grad(flat, x, rows, is_grads_batched=True, retain_graph=True)
        for k, row in enumerate(rows):
            (single,) = torch.autograd.grad(flat, x, row, retain_graph=True)
            assert_close(together[k], single, rtol=1e-9, atol=1e-11)


def test_gradients_may_be_changed_in_place_before_they_are_differentiated():
    """As clipping does; the derivative is that of the gradients as they were."""
    arguments = inputs((2, 3, 4, 4))
    x = arguments[0]
    found = []
    for changed in (False, True):
        y = FUSED(*arguments)
        dx, dg, db = torch.autograd.grad(y.square().sum(), arguments, create_graph=True)
        if changed:
            with torch.no_grad():
                dg.mul_(100.0)
                db.zero_()
        found.append(torch.autograd.grad(dx.square().sum(), x)[0])
    assert torch.equal(*found)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch calls it itself
def test_a_derivative_along_the_gradient_that_comes_in_is_kept():
    arguments = inputs((2, 3, 4, 4))
    tangents = []
    for function in (FUSED, TORCH):
        y = function(*arguments)
        with forward_ad.dual_level():
            g = forward_ad.make_dual(torch.ones_like(y), torch.sin(y.detach()))
            (dx,) = torch.autograd.grad(y, arguments[:1], g)
            tangents.append(forward_ad.unpack_dual(dx).tangent)
    assert tangents[0] is not None
    assert_close(*tangents, rtol=1e-9, atol=1e-10)


def test_an_input_that_is_changed_before_the_gradient_is_noticed():
    x, gamma, beta = inputs((2, 3, 4, 4))
    moved = (x * 1).contiguous(memory_format=torch.channels_last)
    y = FUSED(moved, gamma, beta).sum()
    with torch.no_grad():
        moved.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
