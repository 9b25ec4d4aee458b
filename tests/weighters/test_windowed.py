"""A stream of mini-batches, trained on a window at a time in a loop of the user's."""

import copy
import io
import json

import pytest
import torch

import towpath as tp
from tests.oracles.torch_training import largest_difference, network, objective_of, with_optimiser
from tests.oracles.training import random_tasks
from tests.weighters.race.test_race import JUDGES, Knows, T, fn
from tests.weighters.race.test_race import window as wrong_and_right
from towpath.weighters.seeds import stage_seed

M = 3


def windowed(weighter, model, optimizer, **options):
    return tp.Windowed(weighter, objective_of(model), model, optimizer, **options)


def test_it_trains_as_plans_of_whole_windows_do_and_the_rest_at_the_end():
    stream = random_tasks(0, *[M] * 8)
    model, optimizer = with_optimiser("adam")
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    loop = windowed(tp.TOW(beta=0.02), model, optimizer, horizon=3, seed=5)
    plans = [loop.step(tasks) for tasks in stream]
    assert [plan is not None for plan in plans] == [i % 3 == 2 for i in range(8)]
    assert loop.pending == 2
    assert loop.finish().weights.shape == (2, M)
    assert loop.finish() is None
    state = None
    for i, window in enumerate((stream[:3], stream[3:6], stream[6:])):
        plan = tp.TOW(beta=0.02).plan(
            objective_of(twin), twin, twin_optimizer, window, seed=stage_seed(5, i), state=state
        )
        plan.apply_(twin, twin_optimizer)
        state = plan.weighter_state
    assert largest_difference(model, optimizer, twin, twin_optimizer) == 0.0


def test_what_a_weighter_remembers_goes_from_window_to_window():
    model, optimizer = with_optimiser("adam")
    loop = windowed(tp.Exploitation(), model, optimizer, horizon=2)
    for tasks in random_tasks(0, *[M] * 3):
        loop.step(tasks)
    plan = loop.step(random_tasks(1, M)[0])
    assert plan.weighter_state["step"] == 4


def test_targets_come_with_their_mini_batches():
    model, optimizer = with_optimiser("adam")
    loop = windowed(tp.TOW.towards_targets(), model, optimizer, horizon=2)
    first, second, *goals = random_tasks(0, M, M, 2, 1)
    loop.step(first, targets=goals[0])
    with pytest.raises(ValueError, match="found no targets with this mini-batch, unlike those"):
        loop.step(second)
    plan = loop.step(second, targets=goals[1])
    assert plan.agreement is not None


def test_one_task_in_place_of_a_list_of_tasks_is_refused():
    model, optimizer = with_optimiser("sgd")
    loop = windowed(tp.Uniform(), model, optimizer, horizon=2)
    (tasks,) = random_tasks(0, M)
    with pytest.raises(ValueError, match=r"tasks of Windowed.step is a tuple .* one task"):
        loop.step(tasks[0])
    with pytest.raises(ValueError, match=r"targets of Windowed.step is a tuple .* one task"):
        loop.step(tasks, targets=tasks[0])
    with pytest.raises(ValueError, match=r"judges is a tuple .* one task"):
        raced(judges=tasks[0])
    assert loop.pending == 0


def test_a_mini_batch_of_another_size_begins_a_window_of_its_own():
    model, optimizer = with_optimiser("sgd")
    loop = windowed(tp.Uniform(), model, optimizer, horizon=4)
    first, second, small = random_tasks(0, M, M, 2)
    loop.step(first)
    loop.step(second)
    assert loop.step(small).weights.shape == (2, M)
    assert loop.pending == 1


def test_sizes_that_change_every_time_are_refused_because_nothing_would_be_planned():
    model, optimizer = with_optimiser("sgd")
    loop = windowed(tp.TOW(), model, optimizer, horizon=4)
    *first, last = random_tasks(0, 3, 2, 3, 2)
    for tasks in first:
        loop.step(tasks)
    with pytest.raises(ValueError, match=r"mini-batches of 3, 2, 3 tasks.*nothing to plan"):
        loop.step(last)
    rule = windowed(tp.Exploitation(), model, optimizer, horizon=4)  # needs no window
    aimed = windowed(tp.TOW.towards_targets(), model, optimizer, horizon=4)
    for tasks in random_tasks(0, 3, 2, 3, 2, 3):
        rule.step(tasks)
        aimed.step(tasks, targets=tasks[:2])
    assert rule.windows == aimed.windows == 4


def test_a_smaller_last_mini_batch_of_every_epoch_is_no_reason_to_refuse():
    model, optimizer = with_optimiser("sgd")
    loop = windowed(tp.TOW(), model, optimizer, horizon=4)
    plans = [loop.step(tasks) for tasks in random_tasks(0, *[3, 3, 2] * 5)]
    made = [len(plan.weights) for plan in plans if plan is not None]
    assert made == [2, 1] * 4 + [2]


def test_a_window_that_cannot_be_planned_is_not_in_the_way_of_the_next():
    model, optimizer = with_optimiser("sgd")
    loop = windowed(tp.TOW(), model, optimizer, horizon=1)
    bad, good = random_tasks(0, M, M)
    bad[1] = (bad[1][0] * torch.nan, bad[1][1])
    with pytest.raises(ValueError, match="cannot be applied"):
        loop.step(bad)
    assert loop.step(good).status.usable


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))


def raced(**options):
    model = Line()
    objective = tp.Objective.from_function(fn, loss="mse")
    weighter = tp.Race({"uniform": tp.Uniform(), "knows": Knows()}, first=0, length=T, looks=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return tp.Windowed(weighter, objective, model, optimizer, horizon=T, **options)


def test_judges_let_a_race_choose():
    loop = raced(judges=JUDGES)
    plans = [loop.step(tasks) for number in range(2) for tasks in wrong_and_right(number)]
    assert plans[-1].race.leader == "knows"


@pytest.mark.parametrize("judges", [(), JUDGES[:1]])
def test_a_race_that_nothing_can_judge_is_refused(judges):
    with pytest.raises(ValueError, match=r"Windowed found .*judge.*expected .*2.*judges="):
        raced(judges=judges)


def test_judges_that_nobody_asks_are_refused():
    with pytest.raises(ValueError, match="judges for a weighter that asks none"):
        windowed(tp.TOW(), network(), None, judges=JUDGES)


def continued(make, stream, stop, through):
    """Train on the stream, with a restart of the loop after `stop` mini-batches; the weights."""
    loop = make()
    plans = [loop.step(tasks) for tasks in stream[:stop]]
    again = make(loop.model, loop.optimizer)
    again.load_state_dict(through(loop.state_dict()))
    assert (again.pending, again.windows) == (loop.pending, loop.windows)
    plans += [again.step(tasks) for tasks in stream[stop:]]
    return [plan.weights.tolist() for plan in plans if plan is not None]


def by_file(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize("stop", [4, 5])
@pytest.mark.parametrize("weighter", [tp.Random(), tp.Exploitation(), tp.TOW(beta=0.02)])
def test_a_restarted_loop_goes_on_where_it_was(weighter, stop):
    def make(model=None, optimizer=None):
        if model is None:
            model, optimizer = with_optimiser("adam")
        return windowed(weighter, model, optimizer, horizon=2, seed=3)

    stream = random_tasks(0, *[M] * 8)
    whole = make()
    plans = [whole.step(tasks) for tasks in stream]
    expected = [plan.weights.tolist() for plan in plans if plan is not None]
    assert continued(make, stream, stop, by_file) == expected
    without_pending = by_file(whole.state_dict())
    assert json.loads(json.dumps(without_pending)) == without_pending


def test_a_saved_state_does_not_move_with_the_loop_and_another_one_is_refused():
    model, optimizer = with_optimiser("adam")
    loop = windowed(tp.Exploitation(), model, optimizer, horizon=2)
    first, second, third = random_tasks(0, M, M, M)
    loop.step(first)
    saved = loop.state_dict()
    before = copy.deepcopy(saved)
    loop.step(second)
    loop.step(third)
    assert (saved["windows"], len(saved["tasks"])) == (before["windows"], len(before["tasks"]))
    with pytest.raises(ValueError, match=r"state with the entries \['windows'\]; expected"):
        loop.load_state_dict({"windows": 1})
    with pytest.raises(ValueError, match=r"1 waiting mini-batches.* horizon=1"):
        windowed(tp.Exploitation(), model, optimizer, horizon=1).load_state_dict(saved)


def test_a_horizon_is_a_whole_number():
    with pytest.raises(ValueError, match=r"Windowed found horizon=0; expected"):
        windowed(tp.TOW(), network(), None, horizon=0)


ONE_MINI_BATCH = [
    tp.TOW(),
    tp.TOW.faithful(),
    tp.TOW(beta="auto"),
    tp.TOW(nominal=tp.Random()),
]


@pytest.mark.parametrize("tow", ONE_MINI_BATCH, ids=range(len(ONE_MINI_BATCH)))
def test_a_plan_of_one_mini_batch_says_why_nothing_moves_and_what_to_do(tow):
    (window,) = [random_tasks(0, M)]
    model, optimizer = with_optimiser("adam")
    plan = tow.plan(objective_of(model), model, optimizer, window)
    assert plan.status is tp.Status.NOTHING_TO_PLAN
    for remedy in ("tp.Windowed", "targets", "terminal='replay'"):
        assert remedy in str(plan).replace("\n", " ")
    plan.apply_(model, optimizer)  # it is a plan nevertheless


def test_what_can_move_is_not_told_that_it_cannot():
    window, targets = [random_tasks(0, M)[0]], [random_tasks(1, 2)[0]]
    model, optimizer = with_optimiser("momentum")
    given = (objective_of(model), model, optimizer)
    replayed = tp.TOW(terminal="replay", beta=0.02).plan(*given, window)
    aimed = tp.TOW(beta=0.02).plan(*given, window, targets=targets)
    longer = tp.TOW(beta=0.02).plan(*given, window * 2)
    pulled = tp.TOW(mu=0.2, bounds="project").plan(*given, window)  # the prior alone moves it
    for plan in (replayed, aimed, longer, pulled):
        assert plan.status is not tp.Status.NOTHING_TO_PLAN
        assert not torch.allclose(plan.weights, torch.full_like(plan.weights, 1 / M), atol=1e-3)
