"""Blocks run fused only where nobody can tell the difference; elsewhere layer by layer."""

import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.nn.modules.module import register_module_forward_hook
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from towpath.backbones import Conv4, fused
from towpath.backbones.conv4 import ConvBlock
from towpath.backbones.fused import choice, image_loops, norm_loops


def block(channels=1, filters=16, norm="batch"):
    torch.manual_seed(0)
    return ConvBlock(channels, filters, norm)


def images(channels=1):
    return torch.randn(3, channels, 8, 8, generator=torch.Generator().manual_seed(1))


def chosen(made, x):
    """Whether the block fuses everything, and whether it fuses what follows the convolution."""
    return fused.fuses_all(made.norm, made.conv, x), fused.fuses_norm(made.norm, made.conv(x))


def test_a_block_of_grey_images_runs_as_one_and_others_from_the_norm_on():
    assert chosen(block(), images()) == (True, True)
    assert chosen(block(channels=3), images(3)) == (False, True)
    assert chosen(block(filters=6), images()) == (False, True)
    assert chosen(block(norm="group"), images()) == (False, False)
    assert chosen(block(norm="none"), images()) == (False, False)


def stretched(made):
    made.conv = nn.Conv2d(1, 16, 3, padding=1, stride=2, bias=False)


def hooked(made):
    made.norm.register_forward_hook(lambda module, inputs, output: 2 * output)


def tracking(made):
    made.norm = nn.BatchNorm2d(16)


def replaced(made):
    made.norm = nn.InstanceNorm2d(16)


def without_bias(made):
    made.norm = nn.BatchNorm2d(16, track_running_stats=False)
    made.norm.bias = None


def rewritten(made):
    forward = made.norm.forward
    made.norm.forward = lambda x: 2 * forward(x)


def reflecting(made):
    made.conv = nn.Conv2d(1, 16, 3, padding=1, bias=False, padding_mode="reflect")


@pytest.mark.parametrize("change", [hooked, tracking, replaced, without_bias, rewritten])
def test_a_norm_that_somebody_changed_runs_as_they_made_it(change):
    made = block()
    change(made)
    x = images()
    assert chosen(made, x) == (False, False)
    expected = nn.functional.relu(nn.functional.max_pool2d(made.norm(made.conv(x)), 2))
    assert torch.equal(made(x), expected)


@pytest.mark.parametrize("change", [stretched, reflecting])
def test_a_convolution_that_somebody_changed_runs_as_they_made_it(change):
    made = block()
    change(made)
    x = images()
    assert chosen(made, x) == (False, True)
    expected = nn.functional.relu(nn.functional.max_pool2d(made.norm(made.conv(x)), 2))
    assert_close(made(x), expected, rtol=1e-5, atol=1e-6)


def test_a_hook_on_every_layer_sees_the_layers_of_a_block():
    made, seen = block(), []
    handle = register_module_forward_hook(lambda layer, *_: seen.append(type(layer).__name__))
    try:
        made(images())
    finally:
        handle.remove()
    assert seen == ["Conv2d", "BatchNorm2d", "ConvBlock"]


def test_modes_that_watch_operations_see_those_of_torch():
    made = block()
    with FlopCounterMode(display=False) as counter:
        made(images())
    assert counter.get_total_flops() == 2 * 3 * 16 * 8 * 8 * 9


def test_constants_that_are_compiled_in_are_those_of_the_other_files():
    assert image_loops.LANES == choice.LANES
    assert image_loops.CLOSED == norm_loops.CLOSED


def test_a_hook_on_the_convolution_is_called():
    made, calls = block(), []
    made.conv.register_forward_hook(lambda *a: calls.append(1))
    made(images())
    assert calls == [1]


def test_images_that_need_a_gradient_have_one():
    made = block().double()
    x = images().double().requires_grad_()
    assert torch.autograd.gradcheck(made, x)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch calls it itself
def test_transforms_of_torch_func_and_forward_derivatives_go_through():
    net = Conv4(1, 5, 16, filters=16).double()
    x = torch.randn(4, 1, 16, 16, dtype=torch.float64)
    params = dict(net.named_parameters())

    def total(p):
        return torch.func.functional_call(net, p, (x,)).square().sum()

    plain = torch.autograd.grad(total(params), list(params.values()))
    for ours, theirs in zip(torch.func.grad(total)(params).values(), plain, strict=True):
        assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    direction = {name: torch.ones_like(p) for name, p in params.items()}
    with forward_ad.dual_level():
        dual = {n: forward_ad.make_dual(p.detach(), direction[n]) for n, p in params.items()}
        slope = forward_ad.unpack_dual(total(dual)).tangent
    assert_close(slope, sum(g.sum() for g in plain), rtol=1e-8, atol=1e-8)


def test_autocast_and_other_dtypes_run_layer_by_layer():
    made = block()
    assert fused.fuses_norm(made.norm, images().half()) is False
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert chosen(made, images()) == (False, False)
        assert made(images()).shape == (3, 16, 4, 4)


def test_a_traced_network_holds_operations_of_torch():
    made = block()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing is deprecated, and it doubts checks of shapes
        traced = torch.jit.trace(made, images())
    assert_close(traced(images() + 1), made(images() + 1))


def test_threads_side_by_side_give_what_one_gives():
    net = Conv4(1, 5, 28)
    batches = [torch.randn(5, 1, 28, 28) for _ in range(16)]

    def gradient(x):
        return torch.autograd.grad(net(x).square().sum(), list(net.parameters()))

    alone = [gradient(x) for x in batches]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(gradient, batches))
    for one, other in zip(alone, together, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_numba_is_not_imported_before_a_block_runs():
    code = "import sys, towpath.backbones; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
