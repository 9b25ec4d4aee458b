"""What holds of every plan, whatever the tasks, the optimiser and the options."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call

import towpath as tp
from tests.weighters.problems import (
    EVERY_OPTIMISER,
    F64,
    Holder,
    Problem,
    classification,
    linear,
    quadratic,
    regression,
    same,
    snapshot,
    start_of,
    trained,
)
from towpath.control import ActionPrior, costate_gradient
from towpath.weighters.start import Start
from towpath.weighters.tow.actions import ACTIONS
from towpath.weighters.tow.cost import OwnTasks, TargetTasks
from towpath.weighters.tow.part import WholeView
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.setting import Modelling, Setting

few = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    make = draw(st.sampled_from([regression, classification]))
    problem: Problem = make(
        draw(st.integers(1, 4)),
        draw(st.integers(1, 4)),
        seed=draw(st.integers(0, 1000)),
        samples=3,
        targets=draw(st.integers(0, 2)),
    )
    problem = start_of(
        problem,
        draw(st.sampled_from(list(EVERY_OPTIMISER))),
        warm=draw(st.sampled_from([0, 2])),
        groups=draw(st.booleans()),
    )
    options = {**problem.options, "lr": draw(st.sampled_from([1e-3, 0.05, 0.5]))}
    if problem.optimizer == "adam" and draw(st.booleans()):
        options["eps"] = 1e-8
    problem = replace(problem, options=options)
    assert problem.targets is not None
    return problem if any(problem.targets) else problem.without_targets()


STARTS = ["cold", "warm, two groups"]


def started(problem: Problem, optimiser: str, warm: bool) -> Problem:
    return start_of(problem, optimiser, warm=3 if warm else 0, groups=warm)


betas = st.sampled_from([1e-3, 0.1, 10.0, 1e4])
BOUNDS = ["project", "simplex", "backtrack"]


def options_of(bounds: str) -> dict[str, Any]:
    return {"normalise": "softmax", "bounds": "none"} if bounds == "softmax" else {"bounds": bounds}


# Weights and costs


@few
@given(problems(), betas, st.sampled_from(BOUNDS), st.sampled_from([torch.float32, F64]))
def test_no_weight_is_negative_and_no_plan_is_worse_than_the_nominal(problem, beta, bounds, dtype):
    problem = problem.in_dtype(dtype)
    for tow in (tp.TOW(beta=beta, bounds=bounds), tp.TOW.faithful(beta=beta)):
        plan = problem.plan(tow)
        assert plan.status.usable
        assert plan.weights.shape == problem.shape
        assert plan.weights.dtype == dtype
        assert bool((plan.weights >= 0).all())
        assert plan.cost <= plan.nominal_cost
        assert plan.predicted_decrease >= 0
        assert sum(line.actual for line in plan.history) == pytest.approx(
            plan.actual_decrease, abs=1e-9 * abs(plan.cost)
        )


@few
@given(
    problems(),
    betas,
    st.sampled_from([*BOUNDS, "softmax"]),
    st.sampled_from([None, 0.0, 0.7]),
    st.booleans(),
)
def test_reported_costs_are_the_true_costs(problem, beta, bounds, mu, replay):
    replay = replay and problem.targets is None
    tow = tp.TOW(
        beta=beta, mu=mu, terminal="replay" if replay else "none", **options_of(bounds), probes=2
    )
    plan = problem.plan(tow)
    T, M = problem.shape
    by_hand = {"beta": beta, "mu": mu, "replay": replay, "softmax": bounds == "softmax"}
    uniform = torch.full((T, M), 1.0 / M, dtype=F64)
    assert plan.nominal_cost == pytest.approx(float(problem.value(uniform, **by_hand)), rel=1e-10)
    actions = plan.weights
    if bounds == "softmax":
        if mu is not None:
            return  # the logits' mean moves to mu and is not reported
        # a softmax does not see the mean of its logits, so the plan keeps it
        actions = plan.weights.log()
        actions = actions - actions.mean(1, keepdim=True) + 1.0 / M
    assert plan.cost == pytest.approx(float(problem.value(actions, **by_hand)), rel=1e-10)


@few
@given(problems(), st.sampled_from([torch.float32, F64]))
def test_simplex_weights_sum_to_one(problem, dtype):
    plan = problem.in_dtype(dtype).plan(tp.TOW(beta=0.01, bounds="simplex"))
    tolerance = 1e-6 if dtype == torch.float32 else 1e-12
    np.testing.assert_allclose(plan.weights.double().sum(1), 1.0, atol=tolerance)


def test_projected_weights_may_change_the_length_of_a_step():
    plan = regression(seed=1).plan(tp.TOW(beta=0.01, bounds="project"))
    assert float((plan.weights.sum(1) - 1).abs().max()) > 0.1


@pytest.mark.parametrize("warm", [False, True], ids=STARTS)
@pytest.mark.parametrize("optimiser", EVERY_OPTIMISER)
@pytest.mark.parametrize("targets", [True, False])
def test_the_predicted_decrease_is_the_actual_one_for_small_steps(optimiser, targets, warm):
    make = classification if targets else regression
    problem = started(make(3, 3, seed=5), optimiser, warm)
    problem = problem if targets else problem.without_targets()
    tow = tp.TOW(beta=1e4, iterations=1, adjoint="exact")
    plan = problem.plan(tow)
    assert plan.history[0].eps == 1.0
    assert plan.predicted_decrease == pytest.approx(plan.actual_decrease, rel=1e-2)
    assert plan.predicted_decrease == math.fsum(line.predicted for line in plan.history)


@few
@given(
    st.integers(1, 4),
    st.integers(1, 7),
    st.sampled_from(BOUNDS),
    st.sampled_from(list(EVERY_OPTIMISER)),
    st.booleans(),
    st.sampled_from([torch.float32, F64]),
    st.sampled_from([1e-3, 1.0, 100.0]),
)
@example(2, 6, "simplex", "sgd", False, F64, 1e-3)  # the quadratic program's rounding moved it
def test_without_a_later_cost_the_last_action_stays_uniform(
    T, M, bounds, optimiser, warm, dtype, beta
):
    problem = started(regression(T, M, seed=3, samples=3).without_targets(), optimiser, warm)
    problem = problem.in_dtype(dtype)
    plan = problem.plan(tp.TOW(beta=beta, bounds=bounds))
    uniform = torch.full((M,), 1.0 / M, dtype=dtype)
    assert torch.equal(plan.weights[-1], uniform)
    if T > 1 and M > 1 and beta < 1 and dtype == F64:
        assert not torch.equal(plan.weights[0], uniform)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("M", [6, 7, 11])
def test_also_a_shortened_step_leaves_the_last_action_alone_to_the_bit(bounds, M):
    problem = regression(3, M, seed=0, samples=3, lr=3.0).without_targets()
    plan = problem.plan(tp.TOW(beta=1e-2, bounds=bounds, curvature="none"))
    assert min(line.eps for line in plan.history) < 1
    assert torch.equal(plan.weights[-1], torch.full((M,), 1.0 / M, dtype=F64))


def test_the_last_action_moves_with_targets_and_with_replay():
    problem = regression(3, 4)
    uniform = torch.full((4,), 0.25, dtype=F64)
    targeted = problem.plan(tp.TOW(beta=0.1))
    replayed = problem.without_targets().plan(tp.TOW(beta=0.1, terminal="replay"))
    assert float((targeted.weights[-1] - uniform).abs().max()) > 1e-3
    assert float((replayed.weights[-1] - uniform).abs().max()) > 1e-3


@few
@given(problems(), st.randoms(use_true_random=False), st.sampled_from([*BOUNDS, "softmax"]))
def test_permuting_tasks_permutes_weights(problem, random, bounds):
    T, M = problem.shape
    order = [random.sample(range(M), M) for _ in range(T)]
    shuffled = replace(
        problem,
        window=[[batch[i] for i in o] for batch, o in zip(problem.window, order, strict=True)],
    )
    for curvature in ("none", "gauss-newton-exact"):
        tow = tp.TOW(beta=1.0, curvature=curvature, **options_of(bounds))
        a, b = problem.plan(tow), shuffled.plan(tow)
        # rounding may decide whether a trial is accepted; then nothing can be compared
        assume([line.eps for line in a.history] == [line.eps for line in b.history])
        expected = torch.stack([row[o] for row, o in zip(a.weights, order, strict=True)])
        torch.testing.assert_close(b.weights, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("curvature", ["none", "gauss-newton-exact"])
@pytest.mark.parametrize("warm", [False, True], ids=STARTS)
@pytest.mark.parametrize("optimiser", EVERY_OPTIMISER)
def test_equal_tasks_get_equal_weights(curvature, optimiser, warm):
    problem = started(regression(3, 4, seed=2), optimiser, warm)
    twins = replace(problem, window=[[a, b, a, b] for a, b, *_ in problem.window])
    for bounds in ("project", "simplex", "backtrack"):
        tow = tp.TOW(beta=0.1, curvature=curvature, bounds=bounds, acceptance="strict")
        plan = twins.plan(tow)
        torch.testing.assert_close(plan.weights[:, :2], plan.weights[:, 2:], rtol=0, atol=1e-12)
        assert float((plan.weights[:, 0] - plan.weights[:, 1]).abs().max()) > 1e-3


@pytest.mark.parametrize("optimiser", EVERY_OPTIMISER)
@pytest.mark.parametrize(
    ("bounds", "warm"),
    [("project", True), ("simplex", False), ("backtrack", False), ("softmax", True)],
)
def test_an_infinite_precision_gives_uniform_weights(bounds, optimiser, warm):
    problem = started(regression(3, 5, seed=1, samples=3), optimiser, warm)
    problem = problem if warm else problem.without_targets()
    deviations = []
    for beta in (1e1, 1e3, 1e5, 1e7):
        plan = problem.plan(tp.TOW(beta=beta, tolerance=0.0, **options_of(bounds)))
        deviations.append(float((plan.weights - 1 / 5).abs().max()))
    assert deviations[0] > 1e-5
    assert deviations[-1] < 1e-6
    # to first order the deviation is g0 / beta
    assert deviations[-1] == pytest.approx(1e-2 * deviations[-2], rel=1e-2)


# Agreement of the targets and beta="auto"


def test_agreement_is_one_when_both_halves_of_the_targets_are_equal():
    problem = regression(3, 4, targets=1)
    assert problem.targets is not None
    twice = replace(problem, targets=[[goal, goal] for (goal,) in problem.targets])
    assert twice.plan(tp.TOW()).agreement == pytest.approx(1.0, abs=1e-12)
    plan = twice.plan(tp.TOW(beta="auto", spread=0.5))
    assert plan.agreement == pytest.approx(1.0, abs=1e-12)
    unshrunk = twice.plan(tp.TOW(beta="auto", spread=0.5, shrink="none"))
    assert plan.beta == pytest.approx(unshrunk.beta, rel=1e-12)


@pytest.mark.parametrize("bounds", ["project", "simplex", "backtrack"])
def test_opposed_targets_keep_the_weights_uniform(bounds):
    # between two tasks training stays where it is, and the stronger of the targets pulls one way
    right, left = (3.0, 0.0), (-2.0, 0.0)
    problem = quadratic(
        [[(1.0, 0.0), (-1.0, 0.0)]] * 3,
        [[right, left], [left, right], [right, left]],  # halves begin with alternate members
        start=(0.0, 0.0),
    )
    plan = problem.plan(tp.TOW(beta="auto", bounds=bounds))
    assert plan.agreement == pytest.approx(-1.0, abs=1e-12)
    assert plan.status is tp.Status.NO_AGREEMENT
    assert torch.equal(plan.weights, torch.full((3, 2), 0.5, dtype=F64))
    assert plan.beta == math.inf
    assert plan.cost == plan.nominal_cost
    assert plan.cost == pytest.approx(float(problem.value(plan.weights, 0.0)))
    assert plan.status.usable


@pytest.mark.parametrize("places", [(0, 1), (0, 2), (1, 3), (2, 3)])
def test_two_lone_targets_are_two_halves_wherever_they_stand(places):
    problem = regression(4, 4, targets=1)
    assert problem.targets is not None
    goal = problem.targets[0][0]
    targets = [[goal] if t in places else [] for t in range(4)]
    plan = replace(problem, targets=targets).plan(tp.TOW.towards_targets())
    assert plan.agreement is not None
    assert plan.agreement > 0.1


@few
@given(problems(), st.sampled_from([0.1, 0.5, 0.9]), st.sampled_from(["project", "simplex"]))
def test_auto_beta_sets_the_largest_first_order_deviation(problem, spread, bounds):
    T, M = problem.shape
    assume(M > 1 and (T > 1 or problem.targets is not None))
    tow = tp.TOW(beta="auto", spread=spread, shrink="none", bounds=bounds, iterations=1)
    # without curvature the model's step is the first-order one: d = -g0 / beta
    plan = problem.plan(replace(tow, curvature="none"))
    assume(plan.history and plan.history[0].eps == 1.0)
    assert float((plan.weights - 1 / M).abs().max()) == pytest.approx(spread / M, rel=1e-9)


def test_agreement_scales_the_spread():
    problem = regression(3, 4, seed=6, targets=4)
    plan = problem.plan(tp.TOW.towards_targets())
    assert plan.agreement is not None
    assert 0.0 < plan.agreement < 1.0
    unshrunk = problem.plan(tp.TOW.towards_targets(shrink="none"))
    assert plan.beta == pytest.approx(unshrunk.beta / plan.agreement, rel=1e-12)


def test_beta_is_fixed_over_the_iterations_of_a_window():
    problem = regression(3, 4, seed=4)
    betas = {problem.plan(tp.TOW(beta="auto", iterations=i)).beta for i in (1, 2, 5)}
    assert len(betas) == 1


@pytest.mark.parametrize("bounds", ["project", "simplex", "backtrack"])
def test_nothing_to_gain_keeps_uniform_weights(bounds):
    # every target already sits at its optimum and all tasks pull nowhere
    still = quadratic([[(1.0, 2.0)] * 3] * 3, [[(1.0, 2.0)] * 2] * 3, start=(1.0, 2.0))
    plan = still.plan(tp.TOW(beta="auto", bounds=bounds, shrink="none"))
    assert plan.status is tp.Status.CONVERGED
    assert torch.equal(plan.weights, torch.full((3, 3), 1 / 3, dtype=F64))
    assert plan.cost == plan.nominal_cost == 0.0


# Counters

STRICT = tp.TOW(beta=1.0, acceptance="strict")


@pytest.mark.parametrize("T", [1, 2, 5])
@pytest.mark.parametrize("iterations", [0, 1, 2])
def test_evaluations_and_sketches_are_those_of_the_design(T, iterations):
    problem = regression(T, 4, seed=1, lr=1e-2).without_targets()
    plan = problem.plan(tp.TOW(beta=1.0, iterations=iterations, acceptance="strict"))
    done = len(plan.history)
    assert all(line.trials == 1 for line in plan.history)
    assert done == (iterations if T > 1 else 0)
    assert plan.evaluations == T + done * (T - 1)
    # each iteration sketches its own trajectory
    assert plan.sketches == (T - 1) * iterations


def test_two_iterations_of_five_mini_batches_take_thirteen_evaluations_and_eight_sketches():
    plan = regression(5, 4, seed=1, lr=1e-2).without_targets().plan(STRICT)
    assert [line.trials for line in plan.history] == [1, 1]
    assert (plan.evaluations, plan.sketches) == (13, 8)
    assert [line.evaluations for line in plan.history] == [4, 4]
    assert [line.sketches for line in plan.history] == [4, 0]


def test_targets_are_counted_as_their_part_of_a_mini_batch():
    T, M, goals = 5, 4, 3
    problem = regression(T, M, seed=1, lr=1e-2, targets=goals)
    plan = problem.plan(STRICT)
    assert [line.trials for line in plan.history] == [1, 1]
    each = T * goals / M
    assert plan.evaluations == (T + each) + 2 * (T - 1 + each)
    assert plan.sketches == 2 * (T - 1 + each)


def test_every_task_evaluation_is_counted():
    problem = regression(3, 4, seed=1, lr=2.0)
    calls = 0

    def counted(params: dict[str, Tensor], task: Any) -> tuple[Tensor, Tensor]:
        nonlocal calls
        calls += 1
        return problem.fn(params, task)

    plan = replace(problem, fn=counted).plan(tp.TOW(beta=1e-3, iterations=4, acceptance="strict"))
    assert sum(line.trials for line in plan.history) > len(plan.history), "some trial must fail"
    assert plan.evaluations * 4 == calls


# Randomness and what must stay untouched


@pytest.mark.parametrize("optimiser", EVERY_OPTIMISER)
def test_the_same_seed_gives_the_same_plan_to_the_bit_and_another_seed_does_not(optimiser):
    problem = started(classification(2, 3, seed=1, samples=3), optimiser, warm=True)
    for options in ({}, {"nominal": "random"}, {"bounds": "simplex", "beta": "auto"}):
        tow = tp.TOW(**{"beta": 0.1, **options})
        a, b, c = (problem.plan(tow, seed=s) for s in (7, 7, 8))
        assert torch.equal(a.weights, b.weights)
        assert torch.equal(a.final.x, b.final.x)
        assert a.cost == b.cost
        assert not torch.equal(a.weights, c.weights)


def test_without_randomness_the_seed_changes_nothing():
    problem = classification(3, 4, seed=1)
    tow = tp.TOW(beta=0.1, curvature="gauss-newton-exact")
    assert torch.equal(problem.plan(tow, seed=0).weights, problem.plan(tow, seed=1).weights)


@pytest.mark.parametrize("targets", [True, False])
def test_a_random_nominal_is_a_point_of_the_simplex_and_is_improved(targets):
    problem = regression(4, 5, seed=2)
    problem = problem if targets else problem.without_targets()
    start = problem.plan(tp.TOW(nominal="random", iterations=0), seed=3)
    assert bool((start.weights >= 0).all())
    torch.testing.assert_close(start.weights.sum(1), torch.ones(4, dtype=F64))
    assert start.spread > 0.1
    beta = 0.5
    for bounds in BOUNDS:
        plan = problem.plan(tp.TOW(nominal="random", beta=beta, bounds=bounds), seed=3)
        assert plan.nominal_cost == pytest.approx(float(problem.value(start.weights, beta)))
        assert plan.cost < plan.nominal_cost
        assert bool((plan.weights >= 0).all())


@pytest.mark.parametrize("layer", [nn.Dropout(0.4), nn.BatchNorm1d(8)], ids=["dropout", "norm"])
@pytest.mark.parametrize("adjoint", ["model", "exact"])
@pytest.mark.parametrize("targets", [True, False])
def test_two_plans_of_one_window_are_equal_and_leave_no_trace(layer, adjoint, targets):
    model, optimizer, problem = trained(layer)
    objective = tp.Objective.from_function(
        lambda params, task: (functional_call(model, dict(params), (task[0],)), task[1]),
        loss="mse",
    )
    tow = tp.TOW(beta=0.01, adjoint=adjoint)
    goals = problem.targets if targets else None
    before = snapshot(model, optimizer)
    assert len(before) > 20
    a = tow.plan(objective, model, optimizer, problem.window, targets=goals, seed=1)
    assert same(before, snapshot(model, optimizer))
    b = tow.plan(objective, model, optimizer, problem.window, targets=goals, seed=1)
    assert same(before, snapshot(model, optimizer))
    assert torch.equal(a.weights, b.weights)
    assert torch.equal(a.final.x, b.final.x)
    assert a.cost == b.cost < a.nominal_cost
    assert model.training
    norm = isinstance(layer, nn.BatchNorm1d)
    seen = int(layer.num_batches_tracked) if norm else 0
    a.apply_(model, optimizer)  # parameters, optimiser state and the statistics that are in use
    assert not norm or int(layer.num_batches_tracked) == seen + 3 * 3
    assert torch.equal(torch.get_rng_state(), before[-1])


def test_dropout_masks_differ_between_seeds():
    model, optimizer, problem = trained(nn.Dropout(0.4))
    objective = tp.Objective.from_function(
        lambda params, task: (functional_call(model, dict(params), (task[0],)), task[1]),
        loss="mse",
    )
    tow = tp.TOW(curvature="none")
    costs = {
        tow.plan(objective, model, optimizer, problem.window, seed=s).nominal_cost for s in (0, 1)
    }
    assert len(costs) == 2


# Options


@few
@given(problems(), st.integers(0, 99))
def test_softmax_weights_are_positive_and_sum_to_one(problem, seed):
    tow = tp.TOW(normalise="softmax", bounds="none", beta=0.01, nominal="random")
    plan = problem.plan(tow, seed=seed)
    assert bool((plan.weights > 0).all())
    np.testing.assert_allclose(plan.weights.sum(1), 1.0, atol=1e-12)
    assert plan.cost <= plan.nominal_cost


@pytest.mark.parametrize("targets", [True, False])
@pytest.mark.parametrize("optimiser", EVERY_OPTIMISER)
@pytest.mark.parametrize("warm", [False, True], ids=STARTS)
@pytest.mark.parametrize("softmax", [True, False])
def test_the_gradient_in_the_actions_is_that_of_autograd(targets, optimiser, warm, softmax):
    problem = started(regression(4, 3, seed=3), optimiser, warm)
    problem = problem if targets else problem.without_targets()
    u = torch.rand(4, 3, dtype=F64, generator=torch.Generator().manual_seed(1))
    actions = ACTIONS["softmax" if softmax else "none"]
    setting = Setting(
        problem.objective,
        Start.of(problem.params, problem.state),
        WholeView(problem.window),
        OwnTasks() if problem.targets is None else TargetTasks(problem.targets),
        Modelling("gauss-newton", exact_adjoint=True, actions=actions),
    )
    window = WindowProblem(setting)
    trajectory = window.rollout(lambda t, z: u[t], derivatives=True)
    gradient = costate_gradient(window.model(trajectory)) + ActionPrior(2.0, 1 / 3).gradient(u)
    leaf = u.clone().requires_grad_()
    (expected,) = torch.autograd.grad(problem.cost(leaf, 2.0, softmax=softmax), leaf)
    torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-10)


def test_frozen_moments_plan_through_the_true_dynamics_with_another_model():
    problem = regression(4, 3, seed=3, optimizer="adam", lr=0.05)
    full, frozen = (
        problem.plan(tp.TOW(beta=0.1, moments=m, curvature="gauss-newton-exact"))
        for m in ("full", "frozen")
    )
    assert full.nominal_cost == frozen.nominal_cost
    assert float((full.weights - frozen.weights).abs().max()) > 1e-4
    for plan in (full, frozen):
        assert plan.cost == pytest.approx(float(problem.value(plan.weights, 0.1)), rel=1e-10)
        assert plan.cost < plan.nominal_cost


def test_frozen_moments_are_no_approximation_for_plain_sgd():
    problem = regression(4, 3, seed=3)
    full, frozen = (problem.plan(tp.TOW(beta=0.1, moments=m)) for m in ("full", "frozen"))
    assert torch.equal(full.weights, frozen.weights)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("options", [{}, {"momentum": 0.8}], ids=["plain", "momentum"])
def test_pure_windows_chain_as_applied_ones_do(optimizer, options):
    if optimizer == "adam" and options:
        options = {"betas": (0.7, 0.95), "weight_decay": 0.1}
    problem = regression(3, 3, seed=8, optimizer=optimizer, lr=0.05, **options)
    model, torch_optimizer = problem.module()
    params, state = problem.params, problem.state
    tow = tp.TOW(beta=0.1)
    for seed in range(3):
        shared = (problem.window, problem.targets)
        pure = tow.plan(problem.objective, params, state, shared[0], targets=shared[1], seed=seed)
        real = tow.plan(
            problem.objective, model, torch_optimizer, shared[0], targets=shared[1], seed=seed
        )
        assert torch.equal(pure.weights, real.weights)
        assert pure.cost == real.cost
        real.apply_(model, torch_optimizer)
        params, state = pure.params, pure.optimizer_state
        for name, p in model.named_parameters():
            assert torch.equal(params[name], p.detach())
    assert not torch.equal(params["w1"], problem.params["w1"])


def test_frozen_parameters_are_neither_planned_nor_changed():
    problem = regression(3, 3, seed=8)
    model = Holder(problem.params)
    model.get_parameter("b1").requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = model.get_parameter("b1").detach().clone()
    objective = tp.Objective.from_function(
        lambda params, task: problem.fn({**dict(model.named_parameters()), **params}, task),
        loss="mse",
    )
    plan = tp.TOW(beta=0.1).plan(objective, model, optimizer, problem.window)
    assert set(plan.params) == {"w1", "w2"}
    plan.apply_(model, optimizer)
    assert torch.equal(model.get_parameter("b1"), before)


def test_targets_need_not_use_every_parameter():
    problem = regression(3, 3, seed=8, targets=1)

    def fn(params: dict[str, Tensor], task: Any) -> tuple[Tensor, Tensor]:
        if isinstance(task, str):  # a target on one layer alone
            return params["w2"], torch.zeros_like(params["w2"])
        return problem.fn(params, task)

    plan = replace(problem, fn=fn, targets=[["goal"]] * 3).plan(tp.TOW(beta=0.1))
    assert plan.cost < plan.nominal_cost


# What a reader sees


def test_spread_and_effective_tasks_follow_from_the_weights():
    plan = regression(3, 4).plan(tp.TOW(beta=0.1))
    w = plan.weights.numpy()
    mean = w.mean(1, keepdims=True)
    assert plan.spread == pytest.approx(np.abs(w / mean - 1).max())
    np.testing.assert_allclose(plan.effective_tasks, w.sum(1) ** 2 / (w**2).sum(1))
    uniform = regression(3, 4).plan(tp.TOW(iterations=0))
    assert uniform.spread == 0.0
    np.testing.assert_allclose(uniform.effective_tasks, 4.0)


def test_losses_are_those_before_each_step_and_accuracies_are_reported_for_classes():
    problem = classification(2, 3, seed=1)
    plan = problem.plan(tp.TOW(beta=0.5))
    first = [float(problem.task_loss(problem.params, task)) for task in problem.window[0]]
    np.testing.assert_allclose(plan.losses[0], first, rtol=1e-12)
    assert plan.losses.shape == (2, 3)
    assert plan.accuracies is not None
    hits = [
        float((problem.fn(problem.params, (x, y))[0].argmax(1) == y).double().mean())
        for x, y in problem.window[0]
    ]
    np.testing.assert_allclose(plan.accuracies[0], hits)
    assert regression(2, 3).plan(tp.TOW()).accuracies is None


def test_linear_problems_share_one_parameter_without_aliasing_it():
    w = torch.zeros(2, dtype=F64)
    params = {"w": w}
    task = (torch.eye(2, dtype=F64), torch.ones(2, dtype=F64))
    objective = tp.Objective.from_function(linear, loss="mse")
    plan = tp.TOW().plan(objective, params, tp.SGD(lr=0.1).init(params), [[task]])
    assert torch.equal(w, torch.zeros(2, dtype=F64))
    w.fill_(5.0)
    assert torch.equal(plan.initial.x, torch.zeros(2, dtype=F64))
