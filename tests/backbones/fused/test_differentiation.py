"""Loops give way to torch where a gradient is recorded or stands for several."""

import torch
from torch.autograd import forward_ad
from torch.testing import assert_close

from towpath.backbones.fused.differentiation import again, by_loops, elsewhere


def test_loops_serve_for_plain_gradients_only():
    g = torch.ones(3)
    with torch.no_grad():
        assert by_loops(g, g)
        with forward_ad.dual_level():
            assert not by_loops(g)
    with torch.enable_grad():
        assert not by_loops(g)
    seen = []

    def look(row):
        seen.append(elsewhere(row))
        return row

    torch.func.vmap(look)(torch.ones(2, 3))
    assert seen == [True]


def test_gradients_are_made_again_and_can_be_differentiated():
    a = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([5.0, 7.0], dtype=torch.float64)  # needs no gradient, and has one all the same
    g = torch.tensor([1.0, 10.0], dtype=torch.float64)
    in_a, in_b = again(lambda x, y: x**3 * y, (a, b), g)
    assert_close(in_a, 3 * a.detach() ** 2 * b * g)
    assert_close(in_b, a.detach() ** 3 * g)
    (second,) = torch.autograd.grad(in_a.sum(), a)
    assert_close(second, 6 * a.detach() * b * g)


def test_nothing_is_recorded_where_nobody_differentiates():
    a = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        (gradient,) = again(lambda x: x**2, (a,), torch.ones(2))
    assert not gradient.requires_grad
