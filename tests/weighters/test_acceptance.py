"""Plans that know of chance: what they leave out, and what they remember."""

import itertools
import math

import pytest
import torch

import towpath as tp
from tests.weighters.problems import regression
from towpath.control import Status

BETAS = (0.003, 0.03, 0.3)
SEEDS = range(4)


def problem_of(seed, lr=0.1):
    return regression(4, 5, seed=seed, lr=lr).without_targets()


def error_of(after, before):
    """Standard error over tasks of what the losses of mini-batches 2..T changed by."""
    each = (after.losses - before.losses)[1:].reshape(-1)
    return math.sqrt(len(each)) * float(each.std())


def test_a_second_iteration_is_begun_where_it_promises_more_than_chance_and_only_there():
    begun = []
    for seed, lr, beta in itertools.product(SEEDS, (0.1, 0.3), BETAS):
        problem, options = problem_of(seed, lr), {"beta": beta, "bounds": "backtrack"}
        once = problem.plan(tp.TOW(**options, iterations=1, acceptance="strict"))
        strict = problem.plan(tp.TOW(**options, acceptance="strict"))
        found = problem.plan(tp.TOW(**options, acceptance="chance"))
        eps = once.history[0].eps
        last = strict.history[-1]
        if found.history[0].eps != eps or len(strict.history) < 2 or last.eps == 0.0:
            continue  # another first iteration, or no second one to compare with
        if found.history[0].trials > 1:
            continue  # a rejected trial leaves one iteration to a plan that knows of chance
        # without bounds the model predicts -theta (eps - eps^2 / 2)
        whole = 0.5 * last.predicted / (last.eps - 0.5 * last.eps**2)
        worth = whole >= error_of(once, problem.plan(tp.Uniform())) / eps
        begun.append(worth)
        assert len(found.history) == 1 + worth
        if not worth:
            assert torch.equal(found.weights, once.weights)
            assert found.status is Status.NO_SIGNIFICANT_DECREASE
            assert found.evaluations <= once.evaluations  # trials may be broken off
    assert any(begun), "some second iteration must be worth it"
    assert not all(begun), "some must not"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("acceptance", ["chance", "strict"])
@pytest.mark.parametrize("bounds", ["project", "backtrack"])
def test_no_plan_is_worse_than_its_nominal_however_it_accepts(seed, acceptance, bounds):
    problem = problem_of(seed)
    for beta in BETAS:
        plan = problem.plan(tp.TOW(beta=beta, bounds=bounds, acceptance=acceptance, iterations=4))
        assert plan.cost <= plan.nominal_cost
        assert all(line.actual >= 0 for line in plan.history)


def test_the_next_window_searches_from_where_the_last_one_ended():
    problem, tow = problem_of(3), tp.TOW(beta=0.03, iterations=1, acceptance="chance")
    first = problem.plan(tow)
    (line,) = first.history
    assert line.trials > 2, "the case must need several trials"
    assert first.weighter_state == {"search": {"eps": line.eps, "further": True}}
    again = problem.plan(tow, state=first.weighter_state)
    assert torch.equal(again.weights, first.weights)
    assert again.history[0].trials == 2  # twice the step, which was refused before, and the step
    assert again.weighter_state == first.weighter_state


def test_a_strict_search_begins_every_window_with_a_full_step():
    problem, tow = problem_of(3), tp.TOW(beta=0.03, iterations=1, acceptance="strict")
    first = problem.plan(tow)
    assert first.history[0].trials > 2
    assert first.weighter_state == {}
    remembered = problem.plan(tow, state={"search": {"eps": first.history[0].eps}})
    assert remembered.history[0].trials == first.history[0].trials
    assert torch.equal(remembered.weights, first.weights)


def test_a_full_step_leaves_nothing_to_remember():
    plan = problem_of(1).plan(tp.TOW(beta=0.3, iterations=1, acceptance="chance"))
    assert plan.history[0].eps == 1.0
    assert plan.weighter_state == {}


def test_a_step_size_that_no_search_ends_with_is_refused():
    with pytest.raises(ValueError, match=r"step size 3.0; expected more than 0 and at most 1"):
        problem_of(0).plan(tp.TOW(acceptance="chance"), state={"search": {"eps": 3.0}})


def test_after_a_trial_that_cost_too_much_the_first_iteration_is_the_only_one():
    seen = 0
    for seed, beta in itertools.product(SEEDS, BETAS):
        problem = problem_of(seed, 0.3)
        plan = problem.plan(tp.TOW(beta=beta, acceptance="chance"))
        (line, *later) = plan.history
        if line.trials == 1 or line.eps == 0.0:
            continue
        seen += 1
        once = problem.plan(tp.TOW(beta=beta, acceptance="chance", iterations=1))
        assert not later
        assert plan.status is Status.NO_SIGNIFICANT_DECREASE
        assert torch.equal(plan.weights, once.weights)
        # the first trial is sketched, those after it lead to no model
        assert once.sketches < plan.sketches <= once.sketches + 3.0
        assert plan.weighter_state == {"search": {"eps": line.eps, "further": False}}
        strict = problem.plan(tp.TOW(beta=beta, acceptance="strict"))
        assert len(strict.history) == 2
    assert seen, "some first trial must be rejected"


UNLIKELY = {"search": {"eps": 1.0, "further": False}}


def without_second(seeds=SEEDS):
    """Problems and options whose second iteration chance would hide, with their plans."""
    for seed, beta in itertools.product(seeds, BETAS):
        problem, tow = problem_of(seed), tp.TOW(beta=beta, acceptance="chance")
        plan = problem.plan(tow)
        if len(plan.history) == 1 and plan.status is Status.NO_SIGNIFICANT_DECREASE:
            yield problem, tow, plan


def test_a_second_iteration_that_chance_hid_is_not_prepared_in_the_next_window():
    cases = list(without_second())
    assert cases
    for problem, tow, plan in cases:
        assert plan.weighter_state["search"]["further"] is False
        again = problem.plan(tow, state={"search": {"eps": 1.0, "further": False}})
        assert torch.equal(again.weights, plan.weights)
        assert again.status is plan.status
        # the curvature along the nominal alone: nothing will be modelled that the trial leads to
        assert again.sketches == 3.0 < plan.sketches


def test_a_trial_that_comes_out_as_predicted_leaves_the_outlook_and_a_surprise_changes_it():
    surprised = []
    for seed, lr, beta in itertools.product(SEEDS, (0.1, 0.3), BETAS):
        problem, options = problem_of(seed, lr), {"beta": beta, "bounds": "backtrack"}
        plan = problem.plan(tp.TOW(**options, acceptance="chance"), state=UNLIKELY)
        (line,) = plan.history
        if line.eps == 0.0:
            continue
        error = error_of(plan, problem.plan(tp.Uniform()))
        surprise = abs(line.predicted - line.actual) > error
        surprised.append(surprise)
        further = plan.weighter_state.get("search", {"further": True})["further"]
        # after a trial that cost too much, a surprise is one about the length of the step
        assert further == surprise or (line.trials > 1 and not further)
    assert any(surprised), "some trial must be off"
    assert not all(surprised), "some must come out as predicted"


def test_a_strict_plan_always_prepares_its_second_iteration():
    problem = problem_of(0)
    strict = tp.TOW(acceptance="strict")
    assert problem.plan(strict, state=UNLIKELY).sketches == problem.plan(strict).sketches


def rough(params, task):
    """A smooth loss, and a term that any change of the parameters turns into another number."""
    x, y, phase = task
    smooth = (x @ params["w"] - y).square().mean()
    return smooth + 0.3 * torch.sin(1e9 * params["w"].detach().sum() + phase)


def rough_plan(tow, *, state=None, seed=0):
    """Plan a window whose promises are far below what chance makes of its losses."""
    g = torch.Generator().manual_seed(seed)
    f64 = {"generator": g, "dtype": torch.float64}
    params = {"w": torch.randn(2, **f64)}
    objective = tp.Objective.from_function(rough, loss=None)
    tasks = [[(torch.randn(4, 2, **f64), torch.randn(4, **f64)) for _ in range(5)] for _ in "abc"]
    window = [[(*task, 2.0 * i) for i, task in enumerate(batch)] for batch in tasks]
    optimizer = tp.SGD(lr=1e-3).init(params)
    return tow.plan(objective, params, optimizer, window, state=state)


def rejected_by_chance(tow):
    """A seed whose first trial costs more than the nominal, and its plan."""
    plans = ((seed, rough_plan(tow, seed=seed)) for seed in range(20))
    return next((seed, plan) for seed, plan in plans if plan.history[0].eps == 0.0)


def test_a_search_that_chance_decides_takes_one_trial():
    tow = tp.TOW(beta=100.0, acceptance="chance", curvature="none")
    seed, plan = rejected_by_chance(tow)
    assert plan.history[0].trials == 1
    assert plan.status is Status.NO_SIGNIFICANT_DECREASE
    again = rough_plan(tow, state=plan.weighter_state, seed=seed)
    assert len(again.history) == 1  # the next window is searched all the same


def test_a_strict_search_goes_on_where_chance_decides():
    seed, _ = rejected_by_chance(tp.TOW(beta=100.0, acceptance="chance", curvature="none"))
    plan = rough_plan(tp.TOW(beta=100.0, acceptance="strict", curvature="none"), seed=seed)
    assert plan.history[0].trials > 1
    assert plan.weighter_state == {}
