"""A pure optimiser between two windows knows how far its schedule has come."""

import pytest
import torch

import towpath as tp
from towpath.dynamics.schedules import Linear

X = torch.ones(2, dtype=torch.float64)


def test_steps_taken_are_counted_for_the_schedule():
    held = tp.SGD(lr=1.0).init({"w": X}).scheduled(Linear(steps=10))
    state = held.at(X)
    for t in range(3):
        state = held.stage(t).step(state, X)
    after = held.after(state)
    assert after.taken == 3
    assert after.stage(0).rules[0].lr == pytest.approx(0.7)
    assert after.dynamics.rules[0].lr == 1.0
    assert after.after(after.at(X)).taken == 3  # a window that led nowhere
    assert state.x.tolist() == pytest.approx([1 - 1.0 - 0.9 - 0.8] * 2)


def test_clipping_and_a_schedule_go_together():
    held = tp.Adam(lr=0.1).init({"w": X}).clipped(tp.ClipValue(0.5)).scheduled(Linear(steps=4))
    later = held.stage(2)
    assert later.clip == tp.ClipValue(0.5)
    assert later.rules[0].lr == pytest.approx(0.05)
    assert held.inertia == 0.9
