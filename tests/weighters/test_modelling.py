"""The costate gradient against autograd through the whole rollout."""

import gc
import math
import weakref
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import towpath as tp
from tests.oracles import training
from tests.oracles.compare import assert_close, largest_error
from towpath.control import ActionPrior, ExactGradients, HalfGradients, costate_gradient
from towpath.control.descent import Direction, feedback
from towpath.dynamics.adam import AdamDynamics
from towpath.weighters.start import Start
from towpath.weighters.tow.actions import ACTIONS
from towpath.weighters.tow.cost import OwnTasks, TargetTasks
from towpath.weighters.tow.modelling import PointStage
from towpath.weighters.tow.part import WholeView
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.rollout import Coordinates
from towpath.weighters.tow.setting import Modelling, Setting

M = 3
OPTIMISERS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "sgd": (tp.SGD, training.sgd, {"lr": 0.2}),
    "momentum": (tp.SGD, training.sgd, {"lr": 0.1, "momentum": 0.8, "dampening": 0.3}),
    "nesterov": (
        tp.SGD,
        training.sgd,
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    ),
    "decayed": (tp.SGD, training.sgd, {"lr": 0.2, "weight_decay": 0.3}),
    # eps: a cold first step depends on the gradient by about eps / |g|; at 1e-8 autograd, which
    # subtracts two numbers of order 1 to get it, is itself only good to 4e-9
    "adam": (tp.Adam, training.adam, {"lr": 0.05, "eps": 1e-6}),
    "adam decayed": (tp.Adam, training.adam, {"lr": 0.05, "weight_decay": 0.1, "eps": 1e-3}),
    "adamw": (
        tp.Adam,
        training.adam,
        {"lr": 0.05, "weight_decay": 0.5, "decoupled": True, "betas": (0.7, 0.9), "eps": 1e-6},
    ),
}
NEW = {"weight_decay": 0.1, "eps": 1e-3}
OPTIMISERS |= {
    "amsgrad": (tp.AMSGrad, training.amsgrad, {"lr": 0.05, "betas": (0.8, 0.5), **NEW}),
    "amsgrad decoupled": (tp.AMSGrad, training.amsgrad, {"lr": 0.05, "decoupled": True, **NEW}),
    # with b2 = 0.9 the second moment counts from the sixth step on
    "radam": (tp.RAdam, training.radam, {"lr": 0.05, "betas": (0.8, 0.9), **NEW}),
    "rmsprop": (tp.RMSprop, training.rmsprop, {"lr": 0.02, **NEW}),
    "rmsprop centred": (
        tp.RMSprop,
        training.rmsprop,
        {"lr": 0.02, "alpha": 0.9, "centered": True, "momentum": 0.7, **NEW},
    ),
}
CLIPS: dict[str, tuple[Any, dict[str, float]]] = {
    "by norm": (tp.ClipNorm(0.3), {"norm": 0.3}),
    "by value": (tp.ClipValue(0.1), {"value": 0.1}),
}
COSTS = {"own": {}, "targets": {"targets": True}, "replay": {"replay": True}}


def warmed(optimiser, params, warm, clip=None):
    """The optimiser's state in the library and in the oracle after `warm` equal steps."""
    rule, update, options = OPTIMISERS[optimiser]
    step = partial(update, **options)
    state = rule(**options).init(params)
    if clip is not None:
        ours, theirs = CLIPS[clip]
        state, step = state.clipped(ours), training.clipping(step, **theirs)
    x, memory = training.flat(params), None
    here = state.at(x)
    generator = torch.Generator().manual_seed(7)
    for _ in range(warm):
        g = torch.randn(x.shape, generator=generator, dtype=torch.float64)
        here = state.dynamics.step(here, g)
        x, memory = step(x, memory, g)
    assert_close(here.x, x, 1e-14)
    return state.after(here), here.x, memory, step


def compare(
    optimiser,
    T,
    objective,
    loss,
    params,
    window,
    targets,
    *,
    warm=0,
    replay=False,
    softmax=False,
    clip=None,
    **options,
):
    """Costate gradient of the library, gradient of the oracle; the costs agree on the way."""
    state, x, memory, step = warmed(optimiser, params, warm, clip)
    layout = state.dynamics.layout
    setting = Setting(
        objective,
        Start.of(layout.unflatten(x), state),
        WholeView(window),
        OwnTasks(replay) if targets is None else TargetTasks(targets),
        Modelling(**{"actions": ACTIONS["softmax" if softmax else "none"], **options}),
    )
    problem = WindowProblem(setting)
    u = 0.1 + torch.rand(T, M, generator=torch.Generator().manual_seed(T), dtype=torch.float64)
    nominal = problem.rollout(lambda t, z: u[t], derivatives=True)
    ours = costate_gradient(problem.model(nominal))
    J, reference, end = training.cost_gradient(
        u,
        x,
        memory,
        step,
        loss,
        window,
        targets,
        replay=replay,
        softmax=softmax,
        frozen=options.get("frozen_moments", False),
    )
    assert math.fsum(nominal.state_costs) == pytest.approx(J, rel=1e-12)
    assert_close(nominal.kept.final.x, end, 1e-12)
    return ours, reference


def compare_network(optimiser, T, cost, loss="mse", **options):
    window = training.random_tasks(1, *[M] * T, loss=loss)
    # no target after the first mini-batch, unless it is the only one
    counts = [1] if T == 1 else [0, *[1 + t % 2 for t in range(1, T)]]
    targets = training.random_tasks(2, *counts, loss=loss) if "targets" in COSTS[cost] else None
    objective = tp.Objective.from_function(
        lambda params, task: (training.network(params, task[0]), task[1]), loss=loss
    )
    return compare(
        optimiser,
        T,
        objective,
        partial(training.task_loss, loss=loss),
        training.parameters(),
        window,
        targets,
        replay="replay" in COSTS[cost],
        **options,
    )


@pytest.mark.parametrize("T", [1, 2, 3, 6])
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_the_exact_adjoint_equals_autograd_through_the_rollout(optimiser, cost, T):
    for warm in (0, 2):
        ours, reference = compare_network(
            optimiser, T, cost, warm=warm, exact_adjoint=True, curvature="gauss-newton"
        )
        assert_close(ours, reference, 1e-8)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_the_exact_adjoint_equals_autograd_with_clipped_gradients(optimiser, clip, cost):
    ours, reference = compare_network(
        optimiser, 4, cost, warm=5, clip=clip, exact_adjoint=True, curvature="gauss-newton"
    )
    assert_close(ours, reference, 1e-8)
    free, _ = compare_network(optimiser, 4, cost, warm=5, exact_adjoint=True)
    assert largest_error(ours, free) > 1e-3, "the case must clip something"


@pytest.mark.parametrize("curvature", ["none", "gauss-newton-exact", "hutchinson"])
@pytest.mark.parametrize("optimiser", ["momentum", "adam"])
def test_the_exact_adjoint_does_not_depend_on_the_curvature(optimiser, curvature):
    ours, reference = compare_network(
        optimiser, 4, "targets", "cross_entropy", exact_adjoint=True, curvature=curvature
    )
    assert_close(ours, reference, 1e-8)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("optimiser", ["nesterov", "adamw"])
def test_the_exact_adjoint_follows_softmax_weights(optimiser, cost):
    ours, reference = compare_network(optimiser, 4, cost, exact_adjoint=True, softmax=True)
    assert_close(ours, reference, 1e-8)


@pytest.mark.parametrize("optimiser", ["momentum", "adam", "adamw"])
def test_frozen_moments_equal_autograd_with_the_moments_detached(optimiser):
    options = {"exact_adjoint": True, "frozen_moments": True}
    ours, reference = compare_network(optimiser, 5, "own", warm=1, **options)
    assert_close(ours, reference, 1e-8)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_the_model_adjoint_is_biased_where_the_hessian_is_not_diagonal(optimiser):
    """The comparison above can fail: a diagonal is not enough from the third mini-batch on."""
    ours, reference = compare_network(optimiser, 2, "own", curvature="gauss-newton-exact")
    assert_close(ours, reference, 1e-8)  # nothing lies between the last cost and the first action
    ours, reference = compare_network(optimiser, 6, "own", curvature="gauss-newton-exact")
    assert largest_error(ours, reference) > 1e-3


def diagonal_task(generator):
    """A linear model with orthogonal inputs: the mean squared error has a diagonal Hessian."""
    Q, _ = torch.linalg.qr(torch.randn(6, 4, generator=generator, dtype=torch.float64))
    scales = 0.5 + torch.rand(4, generator=generator, dtype=torch.float64)
    return Q * scales, torch.randn(6, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("clip", [None, *CLIPS])
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_the_model_adjoint_is_exact_where_the_hessian_is_diagonal(optimiser, cost, clip):
    generator = torch.Generator().manual_seed(3)
    T = 6
    window = [[diagonal_task(generator) for _ in range(M)] for _ in range(T)]
    targets = [[diagonal_task(generator)] for _ in range(T)] if cost == "targets" else None
    objective = tp.Objective.from_function(
        lambda params, task: (task[0] @ params["w"], task[1]), loss="mse"
    )
    for warm in (0, 2):
        ours, reference = compare(
            optimiser,
            T,
            objective,
            lambda x, task: F.mse_loss(task[0] @ x, task[1]),
            {"w": torch.randn(4, generator=generator, dtype=torch.float64)},
            window,
            targets,
            warm=warm,
            replay=cost == "replay",
            clip=clip,
            curvature="gauss-newton-exact",
        )
        assert_close(ours, reference, 1e-8)


@pytest.mark.parametrize("value", ["diagonal", "exact"])
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam"])
def test_theta_is_the_slope_of_the_true_cost_along_the_feedback_policy(optimiser, value):
    params, T = training.parameters(), 4
    rule, _, options = OPTIMISERS[optimiser]
    objective = tp.Objective.from_function(
        lambda params, task: (training.network(params, task[0]), task[1]), loss="mse"
    )
    setting = Setting(
        objective,
        Start.of(params, rule(**options).init(params)),
        WholeView(training.random_tasks(1, *[M] * T)),
        modelling=Modelling("gauss-newton-exact", exact_adjoint=True),
    )
    problem = WindowProblem(setting)
    prior = ActionPrior(5.0, 1 / M)
    u = torch.full((T, M), 1 / M, dtype=torch.float64)
    nominal = problem.rollout(lambda t, z: u[t], derivatives=True)
    direction = feedback(problem.model(nominal), u, prior, value)
    assert isinstance(direction, Direction)

    def J(eps):
        policy = direction.policy(eps)
        return problem.rollout(policy, derivatives=False, allows=lambda u: True).cost(prior)

    h = 1e-3
    slope = (8 * (J(h) - J(-h)) - (J(2 * h) - J(-2 * h))) / (12 * h)
    assert slope < 0
    assert direction.theta == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("clip", [None, "by value"])  # by norm, a model has no parts
@pytest.mark.parametrize("cost", ["own", "targets"])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_model_in_parts_of_three_coordinates_equals_the_whole_one(
    monkeypatch, optimiser, cost, clip
):
    found = []
    for chunk in (3, 10**6):
        monkeypatch.setattr("towpath.control.stage.CHUNK", chunk)
        ours, _ = compare_network(optimiser, 3, cost, warm=2, clip=clip)
        found.append(ours)
    assert_close(found[0], found[1], 1e-12)


def test_a_plan_in_parts_equals_the_whole_one_where_parameters_differ_in_their_rules(monkeypatch):
    """Groups of an optimiser, weight decay, and targets whose halves have costates of their own."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    model.double()
    groups = [{"params": [p], "lr": 0.01 * (i + 1)} for i, p in enumerate(model.parameters())]
    optimizer = torch.optim.Adam(groups, weight_decay=0.1)
    draw = torch.Generator().manual_seed(5)

    def task():
        x = torch.randn(6, 3, generator=draw, dtype=torch.float64)
        return x, torch.randn(6, 1, generator=draw, dtype=torch.float64)

    objective = tp.Objective.from_function(
        lambda params, t: (torch.func.functional_call(model, params, t[0]), t[1]), loss="mse"
    )
    window, targets = [[task() for _ in range(3)] for _ in range(4)], [[task(), task()]] * 4
    plans = []
    for chunk in (3, 10**6):
        monkeypatch.setattr("towpath.control.stage.CHUNK", chunk)
        tow = tp.TOW.towards_targets()
        plans.append(tow.plan(objective, model, optimizer, window, targets=targets))
    assert_close(plans[0].weights, plans[1].weights, 1e-10)
    assert plans[0].agreement == pytest.approx(plans[1].agreement, rel=1e-10)
    assert plans[0].spread > 0.01


@pytest.mark.parametrize(
    "options",
    [
        {"bounds": "project"},
        {"bounds": "simplex"},
        {"bounds": "backtrack"},
        {"bounds": "backtrack", "value": "exact"},
        {"bounds": "none", "normalise": "softmax"},
    ],
    ids=str,
)
def test_a_plan_never_makes_more_jacobians_at_once_than_a_part_has(monkeypatch, options):
    made, plainly = [], AdamDynamics.linearise

    def linearise(self, state, gradient):
        made.append(len(gradient))
        return plainly(self, state, gradient)

    monkeypatch.setattr("towpath.control.stage.CHUNK", 3)
    monkeypatch.setattr(AdamDynamics, "linearise", linearise)
    params = training.parameters()
    objective = tp.Objective.from_function(
        lambda params, task: (training.network(params, task[0]), task[1]), loss="mse"
    )
    window = training.random_tasks(1, *[M] * 3, loss="mse")
    plan = tp.TOW(beta=1.0, **options).plan(
        objective, params, tp.Adam(lr=0.05).init(params), window
    )
    assert plan.spread > 0
    assert max(made) == 3


# what is kept from one rollout to the next


@pytest.mark.parametrize("bounds", ["project", "backtrack"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_only_plans_with_feedback_in_float32_store_gradients_in_16_bits(monkeypatch, bounds, dtype):
    stored = []
    plainly = WindowProblem.model

    def model(self, trajectory, **options):
        stored.append([type(point.J) for point in trajectory.kept.points])
        return plainly(self, trajectory, **options)

    monkeypatch.setattr(WindowProblem, "model", model)
    plan_of_scaled_tasks(tp.TOW(beta=1.0, bounds=bounds), (1.0,) * M, dtype)
    half = bounds == "backtrack" and dtype == torch.float32
    # the first evaluation is shared by all rollouts as it is
    assert stored[0] == [ExactGradients] + [HalfGradients if half else ExactGradients] * 2


def test_a_feedback_keeps_neither_the_states_of_its_nominal_nor_its_jacobians():
    params, T = training.parameters(), 4
    objective = tp.Objective.from_function(
        lambda params, task: (training.network(params, task[0]), task[1]), loss="mse"
    )
    setting = Setting(
        objective,
        Start.of(params, tp.Adam(lr=0.05).init(params)),
        WholeView(training.random_tasks(1, *[M] * T)),
        modelling=Modelling("gauss-newton"),
    )
    problem = WindowProblem(setting)
    u = torch.full((T, M), 1 / M, dtype=torch.float64)
    nominal = problem.rollout(lambda t, z: u[t], derivatives=True)
    model = problem.model(nominal, last=True)
    assert isinstance(model.states, Coordinates)
    weak = [weakref.ref(state.x) for state in model.states.states[1:]]
    weak += [weakref.ref(s.point.gam) for s in model.stages if isinstance(s, PointStage)]
    assert len(weak) == 2 * T - 1
    direction = feedback(model, u, ActionPrior(1.0, 1 / M), "diagonal")
    assert isinstance(direction, Direction)
    del model
    gc.collect()
    assert all(ref() is None for ref in weak)


def plan_of_scaled_tasks(tow, scales, dtype, P=2000):
    """A plan of three mini-batches of linear tasks whose gradients differ by the scales."""
    draw = torch.Generator().manual_seed(3)

    def task(scale):
        x = scale**0.5 * torch.randn(3, P, generator=draw, dtype=torch.float64) / P**0.5
        return x.to(dtype), (scale**0.5 * torch.randn(3, generator=draw, dtype=torch.float64)).to(
            dtype
        )

    objective = tp.Objective.from_function(
        lambda params, task: (task[0] @ params["w"], task[1]), loss="mse"
    )
    window = [[task(scale) for scale in scales] for _ in range(3)]
    params = {"w": torch.zeros(P, dtype=dtype)}
    state = tp.Adam(lr=0.3 / P**0.5, eps=3 / P**0.5).init(params)
    return tow.plan(objective, params, state, window)


@pytest.mark.parametrize("scales", [(1.0, 1e-6, 0.5), (1.0, 1e6, 0.5), (1.0, 0.0, 0.5)], ids=str)
@pytest.mark.parametrize("value", ["diagonal", "exact"])
def test_gradients_in_16_bits_do_no_harm_to_tasks_of_any_scale(scales, value):
    # one iteration: what a second one would gain is hidden by rounding in float32
    tow = tp.TOW(beta=1.0 * max(scales), bounds="backtrack", value=value, iterations=1)
    single, double = (
        plan_of_scaled_tasks(tow, scales, dtype) for dtype in (torch.float32, torch.float64)
    )
    assert [line.eps for line in single.history] == [line.eps for line in double.history]
    d32, d64 = (plan.weights.double() - 1 / M for plan in (single, double))
    assert float(M * d64.abs().max()) > 5e-3
    assert float((d32 - d64).norm() / d64.norm()) < 5e-4
    # each task by itself, as far as its deviation is more than rounding of the weights
    assert bool(((d32 - d64).abs() < 1e-3 * d64.abs() + 1e-6).all())
