"""An applied plan leaves model and optimiser where T steps of torch.optim leave them."""

import copy

import pytest
import torch
from torch.optim import lr_scheduler

import towpath as tp
from tests.oracles.torch_training import (
    OPTIMISERS,
    largest_difference,
    network,
    objective_of,
    train,
    with_optimiser,
)
from tests.oracles.training import random_tasks
from tests.weighters.problems import EVERY_OPTIMISER, regression, start_of

T, M = 4, 3
UNIFORM = torch.full((T, M), 1 / M, dtype=torch.float64)


def windows(count):
    return [random_tasks(seed, *[M] * T) for seed in range(count)]


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_apply_equals_weighted_steps_of_torch_and_training_goes_on(name, warm):
    before, first, second, after = windows(4)
    model, optimizer = with_optimiser(name)
    if warm:
        train(model, optimizer, before, UNIFORM)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    frozen = [p.detach().clone() for p in model[4].parameters()]
    for window in (first, second):
        plan = tp.TOW(beta=0.02).plan(objective_of(model), model, optimizer, window)
        assert plan.spread > 0.01, "uniform weights would prove little"
        plan.apply_(model, optimizer)
        train(twin, twin_optimizer, window, plan.weights)
        assert largest_difference(model, optimizer, twin, twin_optimizer) <= 1e-10
    assert all(map(torch.equal, model[4].parameters(), frozen)), "not in the optimiser"
    train(model, optimizer, after, UNIFORM)
    train(twin, twin_optimizer, after, UNIFORM)
    assert largest_difference(model, optimizer, twin, twin_optimizer) <= 1e-10


CLIPS = {"by norm": {"clip_norm": 0.2}, "by value": {"clip_value": 0.05}}


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("name", OPTIMISERS)
def test_twenty_clipped_steps_equal_those_of_torch(name, clip):
    model, optimizer = with_optimiser(name)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    free, free_optimizer = copy.deepcopy((model, optimizer))
    stepping = tp.Stepping(optimizer, **CLIPS[clip])
    spreads = []
    for window in windows(5):
        plan = tp.TOW(beta=0.02).plan(objective_of(model), model, stepping, window)
        spreads.append(plan.spread)
        plan.apply_(model, stepping)
        train(twin, twin_optimizer, window, plan.weights, **CLIPS[clip])
        train(free, free_optimizer, window, plan.weights)
    assert largest_difference(model, optimizer, twin, twin_optimizer) <= 1e-10
    assert largest_difference(model, optimizer, free, free_optimizer) > 1e-3, "nothing was clipped"
    assert max(spreads) > 0.01, "uniform weights would prove little"


SCHEDULERS = {
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=20),
    "lambda": lambda o: lr_scheduler.LambdaLR(o, lambda n: 1 / (1 + n)),
    "one cycle, momentum too": lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=24),
    "warm-up, then steps": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.1, total_iters=3), lr_scheduler.StepLR(o, 2)], [3]
    ),
}


@pytest.mark.parametrize("schedule", SCHEDULERS)
@pytest.mark.parametrize("name", ["momentum", "adam", "radam"])
def test_a_scheduler_within_windows_equals_that_of_a_plain_loop(name, schedule):
    model, optimizer = with_optimiser(name)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    ours, theirs = SCHEDULERS[schedule](optimizer), SCHEDULERS[schedule](twin_optimizer)
    stepping = tp.Stepping(optimizer, scheduler=ours)
    for window in windows(3):
        plan = tp.TOW(beta=0.02).plan(objective_of(model), model, stepping, window)
        plan.apply_(model, stepping)
        train(twin, twin_optimizer, window, plan.weights, scheduler=theirs)
        assert largest_difference(model, optimizer, twin, twin_optimizer) <= 1e-10
        assert ours.get_last_lr() == theirs.get_last_lr()
        assert ours.last_epoch == theirs.last_epoch


@pytest.mark.parametrize("weighter", [tp.Uniform(), tp.Exploration(), tp.PDS(), tp.L2RW()])
def test_every_kind_of_weighter_steps_with_the_rates_of_its_steps(weighter):
    (window,) = windows(1)
    model, optimizer = with_optimiser("adam")
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    ours, theirs = SCHEDULERS["lambda"](optimizer), SCHEDULERS["lambda"](twin_optimizer)
    stepping = tp.Stepping(optimizer, clip_norm=0.2, scheduler=ours)
    targets = random_tasks(9, *[2] * T) if weighter.wants_targets else None
    plan = weighter.plan(objective_of(model), model, stepping, window, targets=targets)
    plan.apply_(model, stepping)
    train(twin, twin_optimizer, window, plan.weights, clip_norm=0.2, scheduler=theirs)
    assert largest_difference(model, optimizer, twin, twin_optimizer) <= 1e-10


def test_apply_refuses_other_clipping_and_a_missing_scheduler():
    (window,) = windows(1)
    model, optimizer = with_optimiser("adam")
    scheduler = SCHEDULERS["cosine"](optimizer)
    clipped = tp.Stepping(optimizer, clip_norm=1.0)
    plan = tp.TOW().plan(objective_of(model), model, clipped, window)
    with pytest.raises(ValueError, match=r"ClipNorm\(max_norm=1.0\); found None"):
        plan.apply_(model, optimizer)
    scheduled = tp.Stepping(optimizer, scheduler=scheduler)
    plan = tp.TOW().plan(objective_of(model), model, scheduled, window)
    with pytest.raises(ValueError, match=r"expected the same tp\.Stepping"):
        plan.apply_(model, optimizer)


@pytest.mark.parametrize("warm", [0, 3], ids=["cold", "warm"])
@pytest.mark.parametrize("optimiser", EVERY_OPTIMISER)
def test_groups_that_differ_in_every_option_are_applied_too(optimiser, warm):
    problem = start_of(regression(T, M, samples=3), optimiser, warm=warm, groups=True)
    model, optimizer = problem.module()
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    for _ in range(2):
        plan = tp.TOW(beta=0.02, acceptance="strict").plan(
            problem.objective, model, optimizer, problem.window, targets=problem.targets
        )
        assert plan.spread > 0.01
        plan.apply_(model, optimizer)
        for tasks, w in zip(problem.window, plan.weights, strict=True):
            twin_optimizer.zero_grad()
            params = dict(twin.named_parameters())
            losses = torch.stack([problem.task_loss(params, task) for task in tasks])
            (w @ losses).backward()
            twin_optimizer.step()
        assert largest_difference(model, optimizer, twin, twin_optimizer) <= 1e-10


@pytest.mark.parametrize("preset", [tp.TOW.faithful(beta=0.02), tp.TOW(beta=0.02, iterations=0)])
def test_every_preset_applies_what_its_weights_say(preset):
    (window,) = windows(1)
    model, optimizer = with_optimiser("adam")
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    plan = preset.plan(objective_of(model), model, optimizer, window)
    plan.apply_(model, optimizer)
    train(twin, twin_optimizer, window, plan.weights)
    assert largest_difference(model, optimizer, twin, twin_optimizer) <= 1e-10


@pytest.mark.parametrize("name", ["nesterov", "adamw"])
def test_a_plan_with_targets_or_softmax_weights_applies_what_its_weights_say(name):
    (window,), targets = windows(1), random_tasks(9, *[2] * T)
    for options in ({}, {"normalise": "softmax", "bounds": "none"}):
        model, optimizer = with_optimiser(name)
        twin, twin_optimizer = copy.deepcopy((model, optimizer))
        tow = tp.TOW(beta=0.02, **options)
        plan = tow.plan(objective_of(model), model, optimizer, window, targets=targets)
        plan.apply_(model, optimizer)
        train(twin, twin_optimizer, window, plan.weights)
        assert largest_difference(model, optimizer, twin, twin_optimizer) <= 1e-10


@pytest.mark.parametrize("name", ["momentum", "adam"])
@pytest.mark.parametrize(
    "schedule",
    [
        lambda o: lr_scheduler.StepLR(o, step_size=1, gamma=0.5),
        lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=8),
    ],
    ids=["step", "one cycle, momentum too"],
)
def test_schedulers_of_torch_act_between_windows(name, schedule):
    model, optimizer = with_optimiser(name)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    ours, theirs = schedule(optimizer), schedule(twin_optimizer)
    rates = set()
    for window in windows(3):
        rates.add(optimizer.param_groups[0]["lr"])
        plan = tp.TOW(beta=0.02).plan(objective_of(model), model, optimizer, window)
        plan.apply_(model, optimizer)
        ours.step()  # torch warns here if it believes that no step was taken
        train(twin, twin_optimizer, window, plan.weights)
        theirs.step()
        assert largest_difference(model, optimizer, twin, twin_optimizer) <= 1e-10
    assert len(rates) == 3


def test_pure_plans_follow_each_other_as_applied_ones_do():
    first, second = windows(2)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    objective, tow = objective_of(model), tp.TOW(beta=0.02)
    params = {name: p.detach().clone() for name, p in model.named_parameters()}
    pure = tow.plan(objective, params, tp.Adam(lr=0.05).init(params), first)
    pure = tow.plan(objective, pure.params, pure.optimizer_state, second)
    for window in (first, second):
        tow.plan(objective, model, optimizer, window).apply_(model, optimizer)
    for name, p in model.named_parameters():
        assert torch.equal(pure.params[name], p)


def test_planning_itself_moves_nothing():
    (window,) = windows(1)
    model, optimizer = with_optimiser("adam")
    train(model, optimizer, window, UNIFORM)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    tp.TOW().plan(objective_of(model), model, optimizer, window)
    assert largest_difference(model, optimizer, twin, twin_optimizer) == 0.0


@pytest.mark.parametrize("moved", ["model", "optimiser", "twice"])
def test_a_plan_refuses_what_moved_since(moved):
    (window,) = windows(1)
    model, optimizer = with_optimiser("adam")
    train(model, optimizer, window, UNIFORM)
    plan = tp.TOW().plan(objective_of(model), model, optimizer, window)
    p = model[0].weight
    with torch.no_grad():
        if moved == "model":
            p[0, 0] += 1e-12
        elif moved == "optimiser":
            optimizer.state[p]["exp_avg"][0, 0] += 1e-12
        else:
            plan.apply_(model, optimizer)
    before = copy.deepcopy((model, optimizer))
    with pytest.raises(ValueError, match="moved since"):
        plan.apply_(model, optimizer)
    assert largest_difference(model, optimizer, *before) == 0.0


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda p: torch.optim.Adagrad(p, lr=0.1), "Adagrad"),
        (lambda p: torch.optim.Adam(p, maximize=True), "maximize"),
    ],
)
def test_an_unmodelled_optimiser_stops_the_plan_before_any_evaluation(make, named):
    def fn(params, task):
        raise AssertionError("evaluated")

    model = network()
    (window,) = windows(1)
    with pytest.raises(ValueError, match=named):
        tp.TOW().plan(tp.Objective.from_function(fn), model, make(model.parameters()), window)
