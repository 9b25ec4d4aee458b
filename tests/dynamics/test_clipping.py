"""Clipped gradients against `torch.nn.utils`, and on a part of the coordinates."""

import pytest
import torch

import towpath as tp
from tests.oracles.compare import assert_close
from towpath.dynamics import clip_of, clipped
from towpath.dynamics.state import whole

CLIPS = {
    tp.ClipNorm(0.5): lambda p: torch.nn.utils.clip_grad_norm_(p, 0.5),
    tp.ClipNorm(1e3): lambda p: torch.nn.utils.clip_grad_norm_(p, 1e3),
    tp.ClipValue(0.2): lambda p: torch.nn.utils.clip_grad_value_(p, 0.2),
}


def normal(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def parameters():
    return {"a": normal(0, 2, 3), "b": normal(1, 4)}


@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_a_gradient_is_clipped_as_torch_clips_it(clip):
    leaves = [torch.nn.Parameter(p) for p in parameters().values()]
    gradients = [normal(5 + i, *leaf.shape) for i, leaf in enumerate(leaves)]
    ours = clip.applied(torch.cat([g.reshape(-1) for g in gradients]))
    for leaf, g in zip(leaves, gradients, strict=True):
        leaf.grad = g
    CLIPS[clip](leaves)  # in place
    assert_close(ours, torch.cat([g.reshape(-1) for g in gradients]), 1e-14)


def test_a_gradient_within_the_bounds_stays_as_it_is_to_the_bit():
    g = normal(2, 10)
    assert torch.equal(tp.ClipNorm(1e3).applied(g), g)
    assert torch.equal(tp.ClipValue(1e3).applied(g), g)
    dynamics = tp.Adam().init(parameters()).dynamics
    state = dynamics.initial(normal(3, 10))
    plain = dynamics.linearise(state, g)
    for clip in (tp.ClipNorm(1e3), tp.ClipValue(1e3)):
        ours = clipped(dynamics, clip).linearise(state, g)
        assert ours.removal is None
        assert torch.equal(ours.A, plain.A)
        assert torch.equal(ours.b, plain.b)


@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_parts_of_the_coordinates_see_the_norm_of_all_of_them(clip):
    """Two ranks with four and six coordinates each, which add up what they know."""
    dynamics = clipped(tp.Adam(weight_decay=0.1).init(parameters()).dynamics, clip)
    state, g, y = dynamics.initial(normal(3, 10)), normal(4, 10), normal(5, 10)
    reference, after = dynamics.linearise(state, g), dynamics.step(state, g)
    rows = normal(6, 3, 10)
    norms: list[torch.Tensor] = []

    def total(numbers):
        return numbers + norms.pop(0)

    for part, other in (((0, 4), slice(4, 10)), ((4, 10), slice(0, 4))):
        own = slice(*part)
        mine = dynamics.restricted(part, total)
        here = type(state)(state.x[own], tuple(s[own] for s in state.slots), state.steps)
        q = g / g.norm()
        norms[:] = [g[other].square().sum()] * 2
        assert_close(mine.step(here, g[own]).x, after.x[own], 1e-14)
        lin = mine.linearise(here, g[own])
        assert_close(lin.b, reference.b[:, own], 1e-14)
        norms[:] = [y[other] @ q[other]]
        assert_close(lin.removed(y[own]), reference.removed(y)[own], 1e-14)
        norms[:] = [rows[:, other] @ q[other]]
        assert_close(lin.removed(rows[:, own]), reference.removed(rows)[:, own], 1e-14)


def test_a_gradient_that_is_not_finite_is_not_made_finite():
    g = torch.tensor([1.0, torch.inf])
    assert not torch.isfinite(tp.ClipNorm(1.0).applied(g)).all()


def test_what_the_options_ask_for():
    assert clip_of(None, None) is None
    assert clip_of(2.0, None) == tp.ClipNorm(2.0)
    assert clip_of(None, 0.5) == tp.ClipValue(0.5)
    with pytest.raises(ValueError, match=r"clip_norm=1.0 and clip_value=2.0; expected one"):
        clip_of(1.0, 2.0)
    assert whole(torch.ones(2)).tolist() == [1.0, 1.0]
