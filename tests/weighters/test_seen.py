"""What a rule is shown of a mini-batch that was evaluated in training."""

import pytest
import torch

from tests.weighters.problems import F64, regression, start_of
from towpath.weighters.rules.seen import Seen
from towpath.weighters.rules.site import Site
from towpath.weighters.start import Start


@pytest.mark.parametrize("columns", [True, False])
def test_a_rule_is_shown_the_tasks_that_are_not_muted_however_gradients_are_stored(columns):
    problem = start_of(regression(1, 4, seed=1), "momentum", warm=2)
    assert problem.targets is not None
    start = Start.of(problem.params, problem.state)
    site = Site(problem.objective, start, 0)
    tasks, goals = problem.window[0], problem.targets[0]
    said = problem.objective.evaluate(problem.params, tasks, skip=[1], columns=columns)
    seen = Seen(site, start.state, said, tasks, goals, {1}, {0})
    batch = seen.mini_batch(7)
    assert seen.kept == [0, 2, 3]
    assert (len(batch), batch.step, batch.tasks) == (3, 7, [tasks[i] for i in seen.kept])
    losses = torch.stack([problem.task_loss(problem.params, task) for task in batch.tasks])
    torch.testing.assert_close(batch.losses, losses)
    direction = torch.arange(len(start.state.x), dtype=F64)
    torch.testing.assert_close(batch.along(direction), batch.gradients @ direction)
    assert site.work == 0, "nothing was asked for beyond the evaluation"
    assert batch.targets.tasks == [goals[1]]
    # influence is the derivative of what a unit of weight does after the step, by differences
    u, size = torch.full((3,), 1 / 3, dtype=F64), 1e-5
    for i, s in enumerate(batch.targets.influence(u)):
        moved = size * torch.eye(3, dtype=F64)[i]
        ahead = batch.targets.ahead(u + moved).loss - batch.targets.ahead(u - moved).loss
        assert float(s) == pytest.approx(-float(ahead) / (2 * size), rel=1e-6)
    assert site.work == 7 * len(goals)
