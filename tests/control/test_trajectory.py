"""The cost of a trajectory, and what its rollout took."""

import torch

from towpath.control import ActionPrior, Trajectory, Work


def test_the_cost_is_that_of_the_states_and_of_the_prior():
    actions = torch.full((2, 2), 0.5, dtype=torch.float64)
    trajectory = Trajectory(actions, [1.0, -3.0], True, True, Work(), kept=None)
    prior = ActionPrior(2.0, 0.0)
    assert trajectory.cost(prior) == -2.0 + 1.0
    assert trajectory.magnitude(prior) == 4.0 + 1.0


def test_work_adds_up_and_sketches_alone_are_no_evaluation():
    total = Work(1, 2, 3) + Work(10, 20, 30)
    assert (total.tasks, total.sketches, total.parts) == (11, 22, 33)
    assert Work(parts=1).any
    assert not Work(sketches=1).any
