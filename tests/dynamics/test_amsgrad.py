"""AMSGrad beside Adam: equal while the second moment grows, slower afterwards."""

import torch

import towpath as tp
from tests.oracles.compare import assert_close

PARAMS = {"w": torch.ones(3, dtype=torch.float64)}
RATES = {"lr": 0.1, "betas": (0.5, 0.6)}


def after(rule, gradients):
    held = rule.init(PARAMS)
    state = held.at(PARAMS["w"])
    for size in gradients:
        state = held.dynamics.step(state, size * torch.ones(3, dtype=torch.float64))
    return held.dynamics, state


def test_it_is_adam_while_the_second_moment_grows():
    growing = [1.0, 2.0, 4.0]
    _, ours = after(tp.AMSGrad(**RATES), growing)
    _, theirs = after(tp.Adam(**RATES), growing)
    assert_close(ours.x, theirs.x, 1e-15)
    assert torch.equal(ours.slots[2], ours.slots[1])


def test_it_remembers_the_largest_second_moment():
    falling = [4.0, 0.1, 0.1, 0.1]
    dynamics, ours = after(tp.AMSGrad(**RATES), falling)
    _, theirs = after(tp.Adam(**RATES), falling)
    assert (ours.slots[2] > 2 * ours.slots[1]).all()
    assert (ours.x > theirs.x).all()  # shorter steps
    b = dynamics.linearise(ours, torch.full((3,), 0.1, dtype=torch.float64)).b
    assert torch.equal(b[3], torch.zeros(3, dtype=torch.float64))  # the maximum does not see g


def test_a_coordinate_without_any_gradient_has_a_finite_linearisation():
    held = tp.AMSGrad(weight_decay=0.1).init({"w": torch.zeros(2)})
    lin = held.dynamics.linearise(held.at(torch.zeros(2)), torch.tensor([0.0, 1.0]))
    assert torch.isfinite(lin.A).all()
    assert torch.isfinite(lin.b).all()
