"""A search that knows of chance, on a world whose tasks and their costs are written out here."""

import pytest
import torch

from towpath.control import ActionPrior, Search, Trajectory, Work
from towpath.control.descent import Direction

FREE = ActionPrior(0.0, 0.0)
F64 = torch.float64


class World:
    """One action; at each of several states every task has its cost, a function of the action."""

    epsilon = 0.0

    def __init__(self, *states):
        self.states = states
        self.tried = []
        self.visited = 0

    def trajectory(self, u, goes_on=None):
        costs, complete = [], True
        for state in self.states:
            costs.append(state(u))
            self.visited += 1
            if goes_on is not None and not goes_on(costs):
                complete = False
                break
        sums = [float(row.sum()) for row in costs]
        action = torch.full((1, 1), u, dtype=F64)
        work = Work(tasks=len(costs))
        return Trajectory(action, sums, True, True, work, None, costs, complete)

    def rollout(self, policy, *, derivatives, allows, goes_on=None):
        u = float(policy(0, torch.zeros(1, 1)))
        self.tried.append(u)
        return self.trajectory(u, goes_on)


def tasks(*slopes):
    """The costs of a state whose tasks change by these slopes."""
    return lambda u: 10.0 + u * torch.tensor(slopes, dtype=F64)


def along(world, search, theta=-1.0, prior=FREE, curvature=0.0):
    """A search from 0 towards 1."""
    direction = Direction(lambda eps: lambda t, z: torch.tensor([eps]), theta, curvature, 1.0, 0.0)
    current = world.trajectory(0.0)
    world.visited = 0
    return search.along(
        direction, world, current, prior, slack=0.0, allows=lambda u: True, derivatives=False
    )


def test_a_decrease_may_fall_short_of_the_promise_by_chance():
    world = World(tasks(-1.0, 0.8, 0.3, -0.15))  # -0.05 with a standard error of about 1.6
    assert along(world, Search(3, 0.1), theta=-1.0).accepted is None
    assert along(world, Search(3, 0.1, chance=1.0), theta=-1.0).eps == 1.0


def test_a_shortfall_that_chance_does_not_explain_is_refused():
    world = World(tasks(-0.0100, -0.0101, -0.0099, -0.0100))
    assert along(world, Search(3, 0.1, chance=1.0), theta=-1.0).accepted is None


def test_no_trial_above_the_nominal_is_taken_however_large_its_error():
    world = World(tasks(-10.0, 10.0, 1e-9, 0.0))
    step = along(world, Search(3, 0.1, chance=1.0), theta=-100.0)
    assert step.accepted is None
    assert world.tried == [1.0, 0.5, 0.25]


def test_a_search_whose_promise_chance_drowns_ends_with_the_first_rejected_trial():
    world = World(tasks(-1.0, 1.2, 0.3, -0.4))  # +0.1 with a standard error of about 1.9
    step = along(world, Search(3, 0.1, chance=1.0), theta=-0.18)
    assert (step.accepted, step.drowned, world.tried) == (None, True, [1.0])
    world = World(tasks(-1.0, 1.2, 0.3, -0.4))
    step = along(world, Search(3, 0.1, chance=1.0), theta=-0.25)
    assert (step.accepted, step.drowned) == (None, False), "a promise of an eighth may be kept"
    assert world.tried[-1] == 0.25
    world = World(tasks(-1.0, 1.2, 0.3, -0.4))
    step = along(world, Search(3, 0.1), theta=-0.18)
    assert (step.drowned, world.tried[-1]) == (False, 0.25), "a strict search goes on"


def test_a_rise_that_chance_does_not_explain_is_halved_whatever_was_promised():
    world = World(tasks(0.1, 0.3, -0.1, 0.2))  # +0.5 with a standard error of 0.34
    step = along(world, Search(3, 0.1, chance=1.0), theta=-0.01)
    assert (step.accepted, step.drowned, step.trials) == (None, False, 2)


def test_an_accepted_trial_drowns_nothing():
    world = World(tasks(-1.0, 0.8, 0.3, -0.4))
    step = along(world, Search(3, 0.1, chance=1.0), theta=-0.01)
    assert (step.eps, step.drowned) == (1.0, False)


def test_chance_hides_what_is_predicted_below_the_error_at_its_step_size():
    direction = Direction(lambda eps: lambda t, z: torch.tensor([eps]), -1.0, 0.4, 1.0, 0.0)
    search = Search(chance=2.0)
    # predicted: eps - 0.2 eps^2, that is 0.8 at 1 and 0.45 at 1/2; chance: 2 noise eps
    assert not search.hides(direction, 1.0, noise=0.39)
    assert search.hides(direction, 1.0, noise=0.41)
    assert not search.hides(direction, 0.5, noise=0.44)
    assert search.hides(direction, 0.5, noise=0.46)
    assert not search.hides(direction, 1.0, noise=0.0), "without a trial nothing is known"
    assert not Search().hides(direction, 1.0, noise=1e9), "a strict search knows no chance"


def test_a_trial_far_beyond_chance_is_broken_off_and_halved():
    rising = tasks(1.0, 1.1, 0.9, 1.05)
    later = tasks(-0.1, 0.1, 0.0, 0.05)
    world = World(tasks(0.0, 0.0, 0.0, 0.0), rising, later, later)
    step = along(world, Search(2, 0.1, chance=1.0), theta=-1e3)
    assert step.accepted is None
    # the first state is the same on both sides, so the second one decides; twice
    assert (step.trials, world.visited, step.work.tasks) == (2, 4, 4)
    assert along(world, Search(2, 0.1), theta=-1e3).work.tasks == 8, "a strict search never stops"


def test_a_trial_goes_on_while_the_prior_may_make_up_for_it():
    rising = tasks(1.0, 1.1, 0.9, 1.05)
    world = World(rising, tasks(-9.0, -9.0, -9.0, -9.0))
    # at the nominal, 0, the prior about 1 costs 50: more than the first state rises
    step = along(world, Search(1, 0.1, chance=1.0), prior=ActionPrior(100.0, 1.0))
    assert step.eps == 1.0


@pytest.mark.parametrize(("ended", "first"), [(1.0, 1.0), (0.5, 1.0), (0.25, 0.5), (0.0625, 0.125)])
def test_a_search_begins_at_twice_the_step_of_the_one_before(ended, first):
    world = World(tasks(-1.0, -1.0))
    step = along(world, Search().after(ended))
    assert world.tried == [first]
    assert step.eps == first


def test_a_surprise_counts_only_if_the_promise_could_be_seen():
    world = World(tasks(-1.0, -3.0, -0.5, -2.0))  # -6.5 with a standard error of 2.2
    search = Search(3, 0.1, chance=1.0)
    assert along(world, search, theta=-1.0).surprising
    assert not along(world, search, theta=-0.1).surprising
