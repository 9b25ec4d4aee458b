"""What goes wrong has a name, and leaves model, optimiser and generators as they were."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

import towpath as tp
from tests.weighters.problems import (
    F64,
    Problem,
    linear,
    quadratic,
    regression,
    same,
    snapshot,
    trained,
)
from towpath.weighters.tow.evaluation import own_cost
from towpath.weighters.tow.rollout import CostTerms

T, M = 3, 3
BOUNDS = ["project", "simplex", "backtrack"]
NAN, INF = math.nan, math.inf


class Poison(torch.autograd.Function):
    """The identity, but its n-th backward pass returns a given number."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, number: float, nth: int) -> Tensor:
        ctx.number, ctx.nth, ctx.passes = number, nth, 0
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor, None, None]:
        ctx.passes += 1
        (cotangent,) = cotangents
        poisoned = ctx.passes == ctx.nth
        return (torch.full_like(cotangent, ctx.number) if poisoned else cotangent), None, None


def poisoned(output: Tensor, fault: str, number: float) -> Tensor:
    """The first backward pass of a task is its gradient, the second its curvature."""
    if fault == "loss":
        return output * number
    if fault == "gradient":
        return Poison.apply(output, number, 1)
    if fault == "curvature":
        return Poison.apply(output, number, 2)
    raise AssertionError(fault)


@dataclass(frozen=True)
class Faulty:
    """A task that goes wrong."""

    task: tuple[Tensor, Tensor]
    fault: str
    number: float = NAN


def setting() -> tuple[nn.Module, torch.optim.Optimizer, tp.Objective, Problem]:
    """A warm model with batch norm in train mode."""
    model, optimizer, problem = trained(nn.BatchNorm1d(8))

    def fn(params: dict[str, Tensor], task: Any) -> tuple[Tensor, Tensor]:
        x, y = task.task if isinstance(task, Faulty) else task
        output = functional_call(model, dict(params), (x,))
        if isinstance(task, Faulty):
            if task.fault == "raise":
                raise ArithmeticError("the task's own words")
            output = poisoned(output, task.fault, task.number)
        return output, y

    return model, optimizer, tp.Objective.from_function(fn, loss="mse"), problem


def with_fault(batches: list[list[Any]], t: int, fault: str, number: float) -> list[list[Any]]:
    """The last task of mini-batch t goes wrong."""
    copy = [list(batch) for batch in batches]
    copy[t][-1] = Faulty(copy[t][-1], fault, number)
    return copy


NOMINAL, DERIVATIVE = tp.Status.NON_FINITE_NOMINAL, tp.Status.NON_FINITE_DERIVATIVE
# where the fault is, what it is in, and how the plan must end
FAULTS = [
    ("window", "loss", NOMINAL),
    ("window", "gradient", NOMINAL),
    ("window", "curvature", DERIVATIVE),
    ("targets", "loss", NOMINAL),
    ("targets", "gradient", DERIVATIVE),
    ("targets", "curvature", DERIVATIVE),
]


@pytest.mark.parametrize("t", range(T))
@pytest.mark.parametrize("number", [NAN, INF])
@pytest.mark.parametrize(("place", "fault", "expected"), FAULTS)
def test_a_number_that_is_not_finite_has_a_status_and_leaves_no_trace(
    place, fault, expected, number, t
):
    model, optimizer, objective, problem = setting()
    window, goals = problem.window, problem.targets
    assert goals is not None
    if place == "window":
        window = with_fault(window, t, fault, number)
    else:
        goals = with_fault(goals, t, fault, number)
    if place == "window" and fault == "curvature" and t == 0:
        expected = None  # the curvature of the first stage enters nothing and is not computed
    before = snapshot(model, optimizer)
    options: list[dict[str, Any]] = [{"bounds": bounds} for bounds in BOUNDS]
    for extra in (*options, {"beta": "auto"}):
        for targets in (goals,) if place == "targets" else (goals, None):
            tow = tp.TOW(**{"beta": 0.1, **extra})
            plan = tow.plan(objective, model, optimizer, window, targets=targets)
            assert same(before, snapshot(model, optimizer))
            if expected is None:
                assert not plan.status.failed
                continue
            assert plan.status is expected, (extra, targets is None)
            assert plan.status.failed
            assert torch.equal(plan.weights, torch.full((T, M), 1 / M, dtype=F64))
            assert str(plan)
            assert plan._repr_html_()
            assert math.isfinite(plan.cost) == (expected is DERIVATIVE)
            if expected is NOMINAL:
                assert not plan.status.usable
                assert torch.equal(plan.final.x, plan.initial.x)
                assert plan.optimizer_state.steps == plan.initial.steps
                with pytest.raises(ValueError, match=r"cannot be applied.*NaN or infinite"):
                    plan.apply_(model, optimizer)
                assert same(before, snapshot(model, optimizer))


@pytest.mark.parametrize("t", range(T))
@pytest.mark.parametrize("place", ["window", "targets"])
def test_an_objective_that_raises_is_heard_and_leaves_no_trace(place, t):
    model, optimizer, objective, problem = setting()
    window, goals = problem.window, problem.targets
    assert goals is not None
    if place == "window":
        window = with_fault(window, t, "raise", NAN)
    else:
        goals = with_fault(goals, t, "raise", NAN)
    before = snapshot(model, optimizer)
    with pytest.raises(ArithmeticError, match="the task's own words") as caught:
        tp.TOW().plan(objective, model, optimizer, window, targets=goals)
    index = M - 1 if place == "window" else 1
    assert any(f"task {index} of the mini-batch" in note for note in caught.value.__notes__)
    assert same(before, snapshot(model, optimizer))


BETA = 8.0


def with_cliff(problem: Problem, height: float) -> Problem:
    """The same tasks, but their outputs are NaN where the first parameter exceeds `height`."""

    def fn(params: dict[str, Tensor], task: Any) -> tuple[Tensor, Tensor]:
        output, target = problem.fn(params, task)
        return output * (NAN if float(params["w"].detach()[0]) > height else 1.0), target

    return replace(problem, fn=fn)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("targets", [True, False])
def test_a_trial_that_is_not_finite_is_rejected_and_the_plan_stays_finite(bounds, targets):
    goals = [[(4.0, 0.0)]] * T if targets else None
    tasks = [[(1.0, 0.0), (0.5, 1.0), (-0.5, -1.0)], *[[(3.0, 0.0)] * 3] * (T - 1)]
    problem = quadratic(tasks, goals, start=(0.0, 0.0), lr=0.1)
    tow = tp.TOW(beta=BETA, bounds=bounds, iterations=1, curvature="gauss-newton-exact")
    free = problem.plan(tow)
    nominal = problem.plan(tp.TOW(iterations=0))
    assert free.history[0].eps == 1.0
    reached, uniform = float(free.final.x[0]), float(nominal.final.x[0])
    assert reached > uniform
    if not targets:  # the last step is not seen by any cost, but by the next window
        reached, uniform = (_before_last_step(problem, plan) for plan in (free, nominal))
    plan = with_cliff(problem, uniform + 0.6 * (reached - uniform)).plan(tow)
    assert plan.history[0].trials > 1
    assert 0 < plan.history[0].eps < 1
    assert plan.cost < plan.nominal_cost
    assert bool(torch.isfinite(plan.weights).all())
    assert bool(torch.isfinite(plan.final.x).all())
    assert plan.cost == pytest.approx(problem.value(plan.weights, BETA))


def _before_last_step(problem: Problem, plan: tp.Plan) -> float:
    first = replace(problem, window=problem.window[:-1])
    x = first.params["w"].clone()
    for tasks, weights in zip(first.window, plan.weights, strict=False):
        gradients = torch.stack([2 * (x - centre) / len(x) for _, centre in tasks])
        x = x - problem.options["lr"] * (weights @ gradients)
    return float(x[0])


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_cliff_on_every_side_keeps_the_nominal(bounds):
    problem = quadratic([[(1.0, 0.0), (2.0, 1.0)]] * T, [[(4.0, 0.0)]] * T, start=(0.0, 0.0))
    nominal = problem.plan(tp.TOW(iterations=0))
    height = float(nominal.final.x[0]) + 1e-9
    plan = with_cliff(problem, height).plan(tp.TOW(beta=0.1, bounds=bounds, max_trials=4))
    assert plan.status is tp.Status.LINE_SEARCH_FAILED
    assert plan.history[-1].trials == 4
    assert torch.equal(plan.weights, nominal.weights)
    assert plan.cost == plan.nominal_cost
    assert plan.status.usable


def cosine_task(params: dict[str, Tensor], task: Any) -> tuple[Tensor, Tensor]:
    """Loss `mean cos(a w)^2`: concave about the start."""
    return torch.cos(task * params["w"]), torch.zeros_like(params["w"])


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("targets", [True, False])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_an_indefinite_curvature_still_gives_a_sound_plan(bounds, targets, optimizer):
    window = [[torch.tensor(a, dtype=F64) for a in (0.8, 1.0, 1.3)]] * T
    start = {"w": torch.tensor([0.2, -0.3, 0.1], dtype=F64)}
    goals = [batch[:2] for batch in window] if targets else None
    problem = Problem(cosine_task, "mse", start, window, goals, optimizer, {"lr": 0.1})
    for value in ("diagonal", "exact"):
        tow = tp.TOW(beta=0.1, curvature="hutchinson", bounds=bounds, value=value, iterations=3)
        plan = problem.plan(tow)
        assert not plan.status.failed
        assert bool((plan.weights >= 0).all())
        assert plan.cost < plan.nominal_cost
        assert plan.cost == pytest.approx(problem.value(plan.weights, 0.1), rel=1e-10)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("value", ["diagonal", "exact"])
def test_a_model_that_stays_indefinite_has_a_status(bounds, value, monkeypatch):
    def negative(here: Any) -> CostTerms:
        cost = own_cost(here)
        return replace(cost, C_xx=torch.full_like(cost.C_xx, -1e6))

    monkeypatch.setattr("towpath.weighters.tow.problem.own_cost", negative)
    model, optimizer, problem = trained(nn.BatchNorm1d(8))
    objective = tp.Objective.from_function(
        lambda params, task: (functional_call(model, dict(params), (task[0],)), task[1]),
        loss="mse",
    )
    before = snapshot(model, optimizer)
    tow = tp.TOW(beta=0.1, bounds=bounds, value=value)
    plan = tow.plan(objective, model, optimizer, problem.window)
    assert same(before, snapshot(model, optimizer))
    assert plan.status is tp.Status.NOT_POSITIVE_DEFINITE
    assert torch.equal(plan.weights, torch.full((T, M), 1 / M, dtype=F64))
    assert plan.cost == plan.nominal_cost
    assert plan.status.usable


def test_every_status_says_what_to_do():
    messages = {status.message for status in tp.Status}
    assert len(messages) == len(tp.Status)
    assert all(";" in message and message.endswith(".") for message in messages)


# Wrong input

PROBLEM = regression(2, 2, targets=2)
TASK = PROBLEM.window[0][0]


def plan_with(tow: tp.TOW | None = None, **changes: Any) -> Callable[[], object]:
    """A plan of a sound problem with some arguments replaced."""

    def call() -> object:
        model, optimizer = PROBLEM.module()
        arguments: dict[str, Any] = {
            "objective": PROBLEM.objective,
            "model": model,
            "optimizer": optimizer,
            "window": PROBLEM.window,
            **changes,
        }
        first = [arguments.pop(n) for n in ("objective", "model", "optimizer", "window")]
        return (tow or tp.TOW()).plan(*first, **arguments)

    return call


def options(**values: Any) -> Callable[[], object]:
    return lambda: tp.TOW(**values)


def unused() -> object:
    model = nn.Linear(2, 1).double()
    model.register_parameter("idle", nn.Parameter(torch.ones(3, dtype=F64)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fn = tp.Objective.from_function(
        lambda params, task: (task[0] @ params["weight"].T + params["bias"], task[1]), loss="mse"
    )
    return tp.TOW().plan(fn, model, optimizer, PROBLEM.window)


def in_dtype(*dtypes: torch.dtype) -> Callable[[], object]:
    """A module whose parameters have these dtypes in turn."""

    def call() -> object:
        model, _ = PROBLEM.module()
        for p, dtype in zip(model.parameters(), dtypes, strict=True):
            p.data = p.data.to(dtype)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return tp.TOW().plan(PROBLEM.objective, model, optimizer, PROBLEM.window)

    return call


def pure(params: dict[str, Any], state_of: dict[str, Tensor] | None = None) -> Callable[[], object]:
    def call() -> object:
        state = tp.Adam(lr=0.1).init(params if state_of is None else state_of)
        return tp.TOW().plan(PROBLEM.objective, params, state, PROBLEM.window)

    return call


def applied(
    change: Callable[[nn.Module, torch.optim.Optimizer, tp.Plan], Any],
) -> Callable[[], object]:
    """Apply a plan after something has changed; `change` may return another pair."""

    def call() -> object:
        model, optimizer = PROBLEM.module()
        plan = tp.TOW().plan(PROBLEM.objective, model, optimizer, PROBLEM.window)
        pair = change(model, optimizer, plan) or (model, optimizer)
        before = snapshot(*pair)
        try:
            plan.apply_(*pair)
        finally:
            assert same(before, snapshot(*pair))
        return None

    return call


def nudge(model: nn.Module, optimizer: torch.optim.Optimizer, plan: tp.Plan) -> None:
    with torch.no_grad():
        next(model.parameters()).add_(1e-12)


def twice(model: nn.Module, optimizer: torch.optim.Optimizer, plan: tp.Plan) -> None:
    plan.apply_(model, optimizer)


def new_rate(model: nn.Module, optimizer: torch.optim.Optimizer, plan: tp.Plan) -> None:
    optimizer.param_groups[0]["lr"] = 0.123


def other_optimizer(model: nn.Module, optimizer: Any, plan: tp.Plan) -> tuple[nn.Module, Any]:
    return model, torch.optim.Adam(model.parameters(), lr=0.3)


def other_model(model: nn.Module, optimizer: Any, plan: tp.Plan) -> tuple[nn.Module, Any]:
    other = nn.Linear(2, 1).double()
    return other, torch.optim.SGD(other.parameters(), lr=0.3)


def half(params: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: p.half() for name, p in params.items()}


GOALS = PROBLEM.targets
AUTO = tp.TOW(beta="auto")
HALF, SINGLE = torch.float16, torch.float32
STRANGER = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
EMPTY_MODEL = nn.Identity()

# what is wrong, the call, and parts of the sentence: what was found, what to do about it
WRONG: list[tuple[str, Callable[[], object], tuple[str, ...]]] = [
    # windows and targets
    ("empty window", plan_with(window=[]), ("window", "empty", "expected a list of T >= 1")),
    ("no tasks", plan_with(window=[[], []]), ("[0, 0]", "M >= 1", "Cut or fill")),
    ("one empty batch", plan_with(window=[[TASK], []]), ("[1, 0]", "same number", "Cut or fill")),
    ("ragged", plan_with(window=[[TASK], [TASK, TASK]]), ("[1, 2]", "same number", "Cut or fill")),
    ("window is a number", plan_with(window=3), ("window", "int", "expected a list")),
    ("window is text", plan_with(window="tasks"), ("window", "str", "expected a list")),
    ("window is a dict", plan_with(window={"a": [TASK]}), ("window", "dict", "expected a list")),
    ("flat window", plan_with(window=[1, 2]), ("window[0]", "int", "Wrap it: [batch]")),
    ("window of texts", plan_with(window=["ab"]), ("window[0]", "str", "expected a list of tasks")),
    ("targets too short", plan_with(targets=[[TASK]]), ("1 lists", "2 mini-batches")),
    ("targets too long", plan_with(targets=[[TASK]] * 3), ("3 lists", "2 mini-batches")),
    ("no target at all", plan_with(targets=[[], []]), ("[0, 0]", "at least one task")),
    ("empty targets", plan_with(targets=[]), ("targets", "empty", "expected a list")),
    ("flat targets", plan_with(targets=[1, 2]), ("targets[0]", "int", "expected a list of tasks")),
    # objective, model, optimiser, seed
    ("a bare function", plan_with(objective=linear), ("function", "expected a tp.Objective")),
    ("no function", lambda: tp.Objective.from_function(3), ("int", "expected a function")),
    ("no learner", lambda: tp.Objective(linear), ("function", "from_function")),
    ("unknown loss", lambda: tp.Objective.from_function(linear, loss="l2"), ("'l2'", "mse")),
    ("model is text", plan_with(model="net"), ("type str", "expected an nn.Module")),
    ("dict with torch.optim", plan_with(model=PROBLEM.params), ("type dict", "tp.Adam(lr=...)")),
    ("module with state", plan_with(optimizer=PROBLEM.state), ("Holder", "torch.optim object")),
    ("no optimiser", plan_with(optimizer=None), ("NoneType", "torch.optim object")),
    ("another's optimiser", plan_with(optimizer=STRANGER), ("not one", "this model's parameters")),
    ("nothing trainable", plan_with(model=EMPTY_MODEL, optimizer=STRANGER), ("not one", "made")),
    ("empty params", pure({}, PROBLEM.params), ("empty or not tensors", "name to tensor")),
    ("params not tensors", pure({"w": 1.0}, PROBLEM.params), ("not tensors", "name to tensor")),
    ("state of others", pure(PROBLEM.params, {"w": TASK[0]}), ("{w: (6, 2)}", ".init(params)")),
    ("unused parameter", unused, ("'idle'", "expected every", "requires_grad_(False)")),
    ("half precision", in_dtype(HALF, HALF, HALF), ("torch.float16", "expected torch.float32")),
    ("mixed precision", in_dtype(SINGLE, F64, F64), ("differ in dtype", "expected one of each")),
    ("pure half precision", pure(half(PROBLEM.params)), ("torch.float16", "expected torch.float")),
    (
        "pure mixed precision",
        pure({**PROBLEM.params, "b1": PROBLEM.params["b1"].float()}),
        ("differ in dtype", "expected one of each"),
    ),
    (
        "state of another dtype",
        pure(PROBLEM.params, {name: p.float() for name, p in PROBLEM.params.items()}),
        ("torch.float32", "torch.float64", ".init(params)"),
    ),
    ("seed below zero", plan_with(seed=-1), ("-1", "expected a whole number")),
    ("seed is text", plan_with(seed="0"), ("'0'", "expected a whole number")),
    # options
    ("negative beta", options(beta=-1.0), ("beta=-1.0", "expected a finite number")),
    ("zero beta", options(beta=0), ("beta=0", "expected beta > 0", "auto")),
    ("beta not a number", options(beta=NAN), ("beta=nan", "expected a finite number")),
    ("infinite beta", options(beta=INF), ("beta=inf", "expected a finite number")),
    ("beta misspelt", options(beta="atuo"), ("'atuo'", "Did you mean 'auto'?")),
    ("beta is a truth", options(beta=True), ("beta=True", "expected a number")),
    ("beta is None", options(beta=None), ("beta=None", "'auto'", "number")),
    ("value", options(value="diag"), ("'diag'", "Did you mean 'diagonal'?")),
    ("adjoint", options(adjoint="exakt"), ("'exakt'", "Did you mean 'exact'?")),
    ("bounds", options(bounds="simplx"), ("'simplx'", "Did you mean 'simplex'?")),
    ("curvature", options(curvature="gauss_newton"), ("'gauss_newton'", "mean 'gauss-newton'?")),
    ("moments", options(moments="froze"), ("'froze'", "Did you mean 'frozen'?")),
    ("normalise", options(normalise="sofmax"), ("'sofmax'", "Did you mean 'softmax'?")),
    ("nominal", options(nominal="unifrom"), ("'unifrom'", "Did you mean 'uniform'?")),
    ("acceptance", options(acceptance="chanc"), ("'chanc'", "Did you mean 'chance'?")),
    ("terminal", options(terminal="reply"), ("'reply'", "Did you mean 'replay'?")),
    ("scale", options(scale="batch"), ("'batch'", "Did you mean 'mini-batch'?")),
    ("shrink", options(shrink="agree"), ("'agree'", "Did you mean 'agreement'?")),
    ("query_share", options(query_share="atuo"), ("'atuo'", "Did you mean 'auto'?")),
    ("value of another type", options(value=3), ("value=3", "expected one of")),
    ("iterations below zero", options(iterations=-1), ("iterations=-1", "at least 0")),
    ("half an iteration", options(iterations=1.5), ("iterations=1.5", "expected a whole number")),
    ("no probes", options(probes=0), ("probes=0", "at least 1")),
    ("no trials", options(max_trials=0), ("max_trials=0", "at least 1")),
    ("negative mu", options(mu=-0.1), ("mu=-0.1", "at least 0")),
    ("mu is text", options(mu="mean"), ("mu='mean'", "expected a number")),
    ("negative spread", options(spread=-1.0), ("spread=-1.0", "expected")),
    ("no spread", options(beta="auto", spread=0.0), ("spread=0", "expected spread > 0")),
    ("tolerance", options(tolerance=NAN), ("tolerance=nan", "expected a finite number")),
    ("c1 too large", options(sufficient_decrease=1.5), ("=1.5", "between 0 and 1")),
    ("c1 is text", options(sufficient_decrease="0.5"), ("'0.5'", "expected a number")),
    # combinations that make no sense
    ("softmax with bounds", options(normalise="softmax"), ("'project'", "bounds='none'")),
    ("no bounds", options(bounds="none"), ("bounds='none'", "'softmax'")),
    ("shrink with a number", options(shrink="agreement"), ("beta=10.0", "Set beta='auto'")),
    (
        "scale with a number",
        options(scale="mini-batch"),
        ("scale='mini-batch'", "beta=10.0", "Set beta='auto'"),
    ),
    ("probes of nothing", options(probes=2, curvature="none"), ("probes=2", "'none'", "drop")),
    (
        "probes of the exact diagonal",
        options(probes=2, curvature="gauss-newton-exact"),
        ("probes=2", "'gauss-newton-exact'", "drop probes"),
    ),
    (
        "replay with targets",
        plan_with(tp.TOW(terminal="replay"), targets=GOALS),
        ("found targets", "Use terminal='none'"),
    ),
    (
        "agreement without targets",
        plan_with(tp.TOW(beta="auto", shrink="agreement")),
        ("found no targets", "Pass targets or use shrink='none'"),
    ),
    (
        "agreement of one target",
        plan_with(AUTO, targets=[[TASK], []]),
        ("one target task", "at least two", "shrink='none'"),
    ),
    # plans and models that do not fit
    ("applied twice", applied(twice), ("moved since this plan", "expected", "Plan again")),
    ("model moved", applied(nudge), ("moved since this plan", "expected", "Plan again")),
    ("rate changed", applied(new_rate), ("lr=0.3", "lr=0.123", "Plan again")),
    ("other optimiser", applied(other_optimizer), ("SGD", "Adam", "Plan again")),
    ("other model", applied(other_model), ("'weight'", "'w1'", "Apply it to the planned model")),
]


@pytest.mark.parametrize(
    ("call", "parts"), [pytest.param(call, parts, id=name) for name, call, parts in WRONG]
)
def test_wrong_input_is_a_value_error_that_says_what_to_do(call, parts):
    with pytest.raises(ValueError) as caught:
        call()
    message = str(caught.value)
    for part in parts:
        assert part in message, f"{part!r} not in: {message}"
    assert message.endswith((".", "?"))


def test_every_option_with_fixed_values_is_in_the_table():
    named = {name for name, _, _ in WRONG}
    choices = {"value", "adjoint", "bounds", "curvature", "moments", "normalise", "nominal"}
    assert choices | {"terminal", "shrink"} <= named
    literal = {name for name, kind in tp.TOW.__annotations__.items() if "Literal" in str(kind)} - {
        "beta"
    }
    assert literal <= named


def test_a_function_that_returns_no_pair_is_told_so():
    objective = tp.Objective.from_function(lambda params, task: params["w1"].sum(), loss="mse")
    with pytest.raises(ValueError, match=r"returned Tensor; expected a pair") as caught:
        plan_with(objective=objective)()
    assert "task 0 of the mini-batch" in caught.value.__notes__[0]
