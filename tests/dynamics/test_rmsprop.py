"""RMSprop where autograd cannot say: without any gradient so far, and cold in float32."""

import pytest
import torch

import towpath as tp
from tests.oracles.compare import assert_close
from towpath.dynamics import State

RULES = [tp.RMSprop(), tp.RMSprop(momentum=0.9, eps=1e-3), tp.RMSprop(centered=True)]


def dynamics_of(rule, size):
    return rule.init({"w": torch.zeros(size, dtype=torch.float64)}).dynamics


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_without_any_gradient_so_far_it_equals_central_differences(rule):
    dynamics = dynamics_of(rule, 1)
    zero = torch.zeros(1, dtype=torch.float64)
    cold = dynamics.initial(zero)
    lin = dynamics.linearise(cold, zero)
    h = 1e-12 * rule.eps
    slope = (dynamics.step(cold, zero + h).z - dynamics.step(cold, zero - h).z) / (2 * h)
    assert torch.isfinite(lin.A).all()
    assert_close(lin.b, slope, 1e-9)


@pytest.mark.parametrize("size", [1e-4, 1.0, 30.0])
def test_float32_gives_the_sensitivity_of_a_cold_state_too(size):
    """At the first step the gradient's size nearly cancels: what is left must not be rounding."""
    generator = torch.Generator().manual_seed(0)
    g = size * torch.randn(9, generator=generator, dtype=torch.float64)
    for rule in RULES:
        dynamics = dynamics_of(rule, 9)
        cold = dynamics.initial(torch.zeros(9, dtype=torch.float64))
        single = State(cold.x.float(), tuple(s.float() for s in cold.slots), cold.steps)
        ours, exactly = dynamics.linearise(single, g.float()).b[0], dynamics.linearise(cold, g).b[0]
        assert_close(ours / exactly, torch.ones(9), 1e-5)


def test_the_moments_are_those_that_a_group_needs():
    assert dynamics_of(tp.RMSprop(), 2).slot_names == ("square_avg",)
    assert dynamics_of(tp.RMSprop(momentum=0.5, centered=True), 2).slot_names == (
        "square_avg",
        "grad_avg",
        "momentum_buffer",
    )
