"""How far to go along a direction, on a world whose cost is written out here."""

import math

import torch

from towpath.control import ActionPrior, Search, Trajectory, Work
from towpath.control.descent import Direction

FREE = ActionPrior(0.0, 0.0)


class World:
    """One action in one stage; the cost is a function of it, and bad actions cost nothing."""

    epsilon = 0.0

    def __init__(self, cost):
        self.cost = cost
        self.tried = []

    def rollout(self, policy, *, derivatives, allows, goes_on=None):
        u = policy(0, torch.zeros(1, 1))
        self.tried.append(float(u))
        feasible = allows(u)
        cost = self.cost(float(u)) if feasible else 0.0
        work = Work(tasks=1) if feasible else Work()
        finite = math.isfinite(cost)
        return Trajectory(u[None], [cost], finite, feasible, work, kept=derivatives)


def along(world, theta=-1.0, search=None, allows=lambda u: True, slack=0.0):
    """A search from 0 towards 1."""
    direction = Direction(lambda eps: lambda t, z: torch.tensor([eps]), theta, 0.0, 1.0, 0.0)
    current = Trajectory(torch.zeros(1, 1), [world.cost(0.0)], True, True, Work(), kept=False)
    return (search or Search()).along(
        direction, world, current, FREE, slack=slack, allows=allows, derivatives=True
    )


def test_the_first_step_that_lowers_the_cost_enough_is_taken():
    world = World(lambda u: math.inf if u > 0.3 else (u - 0.25) ** 2)
    step = along(world, theta=-0.5)
    # 1 and 1/2 have no cost; 1/4 is the minimum
    assert world.tried == [1.0, 0.5, 0.25]
    assert (step.eps, step.trials, step.work.tasks) == (0.25, 3, 3)
    assert step.accepted is not None
    assert step.accepted.kept is True


def test_a_decrease_that_is_too_small_for_the_promise_is_refused():
    world = World(lambda u: -0.01 * u)
    assert along(world, theta=-1.0, search=Search(4, 0.1)).accepted is None
    assert along(world, theta=-1.0, search=Search(4, 0.005)).eps == 1.0


def test_a_step_that_raises_the_cost_is_refused_even_within_the_rounding():
    assert along(World(lambda u: 1e-9 * u), search=Search(3), slack=10.0).accepted is None


def test_trials_are_limited_and_one_that_cannot_be_taken_is_free():
    world = World(lambda u: math.inf if u > 0 else 0.0)
    assert along(world, search=Search(3)).trials == 3
    assert len(world.tried) == 3
    world = World(lambda u: -u)
    step = along(world, search=Search(1), allows=lambda u: float(u) < 0.1)
    assert (step.eps, step.trials) == (0.0625, 1)
    assert len(world.tried) == 5


def test_a_trial_that_is_not_finite_is_refused():
    world = World(lambda u: math.nan if u > 0.6 else -u)
    assert along(world, theta=-1.0).eps == 0.5


def test_step_sizes_that_a_rejected_one_rules_out_are_not_tried():
    world = World(lambda u: -u + 9.0 * u**2)  # slope -1; its least is at 1/18
    step = along(world, theta=-1.0, search=Search(sufficient_decrease=0.5))
    # on the parabola through (1, 8) only steps up to 1/18 have half of the promised decrease
    assert world.tried == [1.0, 0.03125]
    assert (step.eps, step.trials) == (0.03125, 2)


def test_a_jump_leaves_the_shortest_step_that_halving_would_try():
    world = World(lambda u: 1000.0 * u)  # the model promises a decrease, and there is none
    step = along(world, search=Search(max_trials=5))
    assert world.tried == [1.0, 0.0625]
    assert (step.accepted, step.trials) == (None, 2)
    flat = World(lambda u: 0.01 * u)  # just too high: every halving might do
    along(flat, theta=-0.01, search=Search(max_trials=5))
    assert flat.tried[0] == 1.0
    assert flat.tried[-1] == 0.0625
