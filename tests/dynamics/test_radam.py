"""RAdam leaves the second moment out while its estimate is rough."""

import math

import torch

import towpath as tp
from tests.oracles.compare import assert_close

X = torch.ones(2, dtype=torch.float64)


def test_the_first_steps_are_those_of_momentum_alone():
    held = tp.RAdam(lr=0.1).init({"w": X})
    g = torch.tensor([1.0, 100.0], dtype=torch.float64)
    state = held.dynamics.step(held.at(X), g)
    assert_close(state.x, X - 0.1 * g, 1e-15)
    assert (held.dynamics.linearise(held.at(X), g).A[0, 2] == 0).all()  # x does not depend on v


def test_the_rectification_begins_where_the_paper_says_and_tends_to_one():
    rule = tp.RAdam(betas=(0.9, 0.999))
    assert [rule.rectification(n) is None for n in range(7)] == [True] * 5 + [False] * 2
    assert math.isclose(rule.rectification(10**6) or 0.0, 1.0)
    late = [rule.rectification(n) or 0.0 for n in (6, 60, 600)]
    assert 0 < late[0] < late[1] < late[2] < 1


def test_parameters_may_be_on_both_sides_of_the_beginning():
    params = {"young": X, "old": X}
    held = tp.RAdam(lr=0.1).init(params)
    state = type(held.at(X))(torch.cat([X, X]), (torch.ones(4).double(),) * 2, (0, 100))
    lin = held.dynamics.linearise(state, torch.ones(4).double())
    assert (lin.A[0, 2, :2] == 0).all()
    assert (lin.A[0, 2, 2:] != 0).all()
