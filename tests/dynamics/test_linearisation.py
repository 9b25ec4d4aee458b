"""A and b of a step against `jacrev` of the step, the gradient replaced by its linear model."""

import pytest
import torch
from torch.func import jacrev

import towpath as tp
from tests.oracles.compare import assert_close
from towpath.dynamics import AdamDynamics, State, clipped
from towpath.flat import Layout

LAYOUT = Layout(("first", "second"), (torch.Size([2, 2]), torch.Size([3])))
RULES = {
    "sgd": (tp.SGD(lr=0.3), tp.SGD(lr=0.1, weight_decay=0.2)),
    "momentum": (
        tp.SGD(lr=0.3, momentum=0.9, dampening=0.4, weight_decay=0.1),
        tp.SGD(lr=0.1, momentum=0.5),
    ),
    "nesterov": (
        tp.SGD(lr=0.3, momentum=0.9, nesterov=True, weight_decay=0.1),
        tp.SGD(lr=0.1, momentum=0.5, dampening=0.3),
    ),
    "one group with momentum": (
        tp.SGD(lr=0.3, momentum=0.9, nesterov=True),
        tp.SGD(lr=0.1, dampening=0.3, weight_decay=0.1),
    ),
    "adam": (tp.Adam(lr=0.1, betas=(0.8, 0.95)), tp.Adam(lr=0.02, eps=1e-4)),
    "adam decayed": (tp.Adam(lr=0.1, weight_decay=0.3), tp.Adam(lr=0.02, weight_decay=0.1)),
    "adamw": (
        tp.Adam(lr=0.1, weight_decay=0.3, decoupled=True),
        tp.Adam(lr=0.02, weight_decay=0.1, betas=(0.5, 0.9)),
    ),
    "amsgrad": (
        tp.AMSGrad(lr=0.1, weight_decay=0.3, decoupled=True, betas=(0.8, 0.5)),
        tp.AMSGrad(lr=0.02, weight_decay=0.1, eps=1e-4),
    ),
    "radam": (
        tp.RAdam(lr=0.1, weight_decay=0.3, betas=(0.8, 0.95)),
        tp.RAdam(lr=0.02, weight_decay=0.1, decoupled=True, eps=1e-4),
    ),
    "rmsprop": (tp.RMSprop(lr=0.1, weight_decay=0.3), tp.RMSprop(lr=0.02, alpha=0.8, eps=1e-4)),
    "rmsprop centred in one group": (
        tp.RMSprop(lr=0.1, weight_decay=0.3, centered=True),
        tp.RMSprop(lr=0.02, alpha=0.8),
    ),
    "rmsprop momentum in the other": (
        tp.RMSprop(lr=0.1, centered=True, alpha=0.9),
        tp.RMSprop(lr=0.02, alpha=0.8, momentum=0.7, weight_decay=0.2),
    ),
    "rmsprop momentum": (
        tp.RMSprop(lr=0.1, momentum=0.9, eps=1e-3),
        tp.RMSprop(lr=0.02, momentum=0.5, eps=1e-3),
    ),
}
CLIPS = {"not clipped": None, "by norm": tp.ClipNorm(0.7), "by value": tp.ClipValue(0.6)}


def dynamics_of(rules):
    return rules[0].init(LAYOUT.unflatten(torch.zeros(LAYOUT.total))).dynamics.with_rules(rules)


def normal(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def warmed(dynamics, warm):
    state = dynamics.initial(normal(0, LAYOUT.total))
    for t in range(warm):
        state = dynamics.step(state, normal(10 + t, LAYOUT.total))
    if warm:  # the second parameter joined later
        state = State(state.x, state.slots, (state.steps[0], state.steps[1] - 1))
    return state


def jacobians(dynamics, state, g, gam, J):
    """dz+/dz and dz+/du of the step on `g + gam (x - x0) + J'u`, dense."""
    P = len(g)

    def step(z, u):
        x, *slots = z.reshape(-1, P)
        gradient = g + gam * (x - state.x) + u @ J
        return dynamics.step(State(x, tuple(slots), state.steps), gradient).z.reshape(-1)

    zero = torch.zeros(len(J), dtype=torch.float64)
    return jacrev(step, argnums=(0, 1))(state.z.reshape(-1), zero)


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("warm", [0, 1, 3, 9])
@pytest.mark.parametrize("rules", RULES)
def test_linearisation_equals_jacrev_of_the_step(rules, warm, clip):
    dynamics = clipped(dynamics_of(RULES[rules]), CLIPS[clip])
    state = warmed(dynamics, warm)
    P, k = LAYOUT.total, len(state.slots) + 1
    g, gam, J = normal(1, P), normal(2, P), normal(3, 4, P)
    lin = dynamics.linearise(state, g)
    assert lin.A.shape == (k, k, P)
    assert (lin.removal is not None) == (clip == "by norm")
    R = lin.removed(torch.eye(P, dtype=torch.float64))
    F_x = torch.zeros(k, P, k, P, dtype=torch.float64)
    F_x[:, :, 0, :] = lin.b[:, :, None] * (R * gam)
    for p in range(P):
        F_x[:, p, :, p] += lin.A[:, :, p]
    F_u = lin.b[:, :, None] * lin.removed(J).T
    dz, du = jacobians(dynamics, state, g, gam, J)
    assert_close(F_x.reshape(k * P, k * P), dz, 1e-12)
    assert_close(F_u.reshape(k * P, 4), du, 1e-12)


@pytest.mark.parametrize("rules", RULES)
def test_frozen_moments_keep_the_entry_and_the_row_of_the_parameters(rules):
    dynamics = dynamics_of(RULES[rules])
    state, g = warmed(dynamics, 2), normal(1, LAYOUT.total)
    lin = dynamics.linearise(state, g)
    frozen = lin.frozen()
    assert torch.equal(frozen.A, lin.A[:1, :1])
    assert torch.equal(frozen.b, lin.b[:1])


@pytest.mark.parametrize("rule", [tp.Adam(), tp.Adam(weight_decay=0.1), tp.Adam(eps=1e-3)])
@pytest.mark.parametrize("steps", [0, 5])
def test_adam_without_any_gradient_so_far_equals_central_differences(rule, steps):
    """At m = v = g = 0 autograd gives NaN; x = 0 lets the differences be as small as they must be:
    far below eps, where the square root of v is not seen."""
    layout = Layout(("w",), (torch.Size([1]),))
    dynamics = AdamDynamics(layout, (rule,))
    zero = torch.zeros(1, dtype=torch.float64)
    lin = dynamics.linearise(State(zero, (zero, zero), (steps,)), zero)
    h = 1e-12 * rule.eps

    def step(x, m, g):
        state = State(zero + x, (zero + m, zero), (steps,))
        return dynamics.step(state, zero + g).z[:, 0]

    def slope(x=0.0, m=0.0, g=0.0):
        return (step(h * x, h * m, h * g) - step(-h * x, -h * m, -h * g)) / (2 * h)

    for column, reference in (
        (lin.A[:, 0, 0], slope(x=1.0)),
        (lin.A[:, 1, 0], slope(m=1.0)),
        (lin.b[:, 0], slope(g=1.0)),
    ):
        assert torch.isfinite(column).all()
        assert_close(column, reference, 1e-9)
    # v cannot be negative: one-sided, and x+ does not see it while m+ = 0
    after = dynamics.step(State(zero, (zero, zero + h), (steps,)), zero).z[:, 0]
    assert_close(lin.A[:, 2, 0], after / h, 1e-9)


def test_only_the_coordinates_without_gradient_are_treated_apart():
    layout = Layout(("w",), (torch.Size([2]),))
    dynamics = AdamDynamics(layout, (tp.Adam(),))
    zero = torch.zeros(2, dtype=torch.float64)
    state = State(zero, (zero, zero), (0,))
    g = torch.tensor([0.0, 0.3], dtype=torch.float64)
    both = dynamics.linearise(state, g)
    alone = dynamics.linearise(state, torch.tensor([0.3, 0.3], dtype=torch.float64))
    assert_close(both.A[..., 1], alone.A[..., 1], 0.0)
    assert torch.isfinite(both.A).all()
    assert torch.isfinite(both.b).all()


@pytest.mark.parametrize("size", [1e-4, 1.0, 30.0])
def test_float32_gives_the_sensitivity_of_a_cold_adam_too(size):
    """At the first step x+ hardly depends on the gradient (its size cancels): the little that is
    left must not be rounding."""
    dynamics = dynamics_of(RULES["adam"])
    g = size * normal(9, LAYOUT.total).float()
    cold = dynamics.initial(torch.zeros(LAYOUT.total))
    reference = dynamics.initial(torch.zeros(LAYOUT.total, dtype=torch.float64))
    ours, exactly = dynamics.linearise(cold, g).b[0], dynamics.linearise(reference, g.double()).b[0]
    assert_close(ours / exactly, torch.ones(LAYOUT.total), 1e-6)
