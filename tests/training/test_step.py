"""The training step: what it equals, what it leaves alone, and what it does with bad numbers."""

import copy
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import Tensor, nn

import towpath as tp
from tests.learners.tasks import classification
from towpath.cli.progress import ConsoleReporter
from towpath.control import quadratic
from towpath.data import TaskShape
from towpath.learners import MAML, Learner, ProtoNet
from towpath.objective import Curvature
from towpath.objective.workers import Workers
from towpath.recipes.component import Component
from towpath.recipes.learners import make_learner
from towpath.recipes.optimizers import make_optimizer
from towpath.recipes.recipe import Recipe
from towpath.runs.folder import RunFolder
from towpath.runs.origin import Origin
from towpath.runs.records import Event, Record, SkippedWindow, WindowRecord
from towpath.training import TrainingStoppedError, train
from towpath.training.checkpoint import load_checkpoint
from towpath.training.setup import prepare
from towpath.training.state import TrainState
from towpath.training.step import train_step
from towpath.weighters import Weighter

from .runs import trained_on

F64 = torch.float64
Window = list[list[Any]]


@pytest.fixture(autouse=True)
def one_thread():
    """Sums of one task do not depend on the number of threads in a run either."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def learner_named(name: str, backbone: str, **options: Any) -> Learner:
    sizes: dict[str, dict[str, Any]] = {"conv4": {"filters": 4}, "mlp": {"hidden": [8]}}
    return make_learner(
        Component(backbone, sizes[backbone]),
        Component(name, options),
        shape=TaskShape((1, 16, 16), 2),
        seed=0,
    )


def state_of(learner: Learner, optimizer: dict[str, Any], dtype: torch.dtype) -> TrainState:
    params = {n: p.detach().clone().to(dtype) for n, p in learner.parameters().items()}
    return TrainState(params, make_optimizer(Component.of("optimizer", optimizer), params))


def image_windows(count: int, T: int, M: int, dtype: torch.dtype = torch.float32) -> list[Window]:
    seeds = iter(range(count * T * M))
    return [
        [[classification((1, 1), 2, (1, 16, 16), next(seeds), dtype) for _ in range(M)]
         for _ in range(T)]
        for _ in range(count)
    ]  # fmt: skip


def tensors(state: TrainState) -> list[Tensor]:
    """Parameters and moments."""
    return [*state.params.values(), *state.optimizer.slots]


def same_training(a: TrainState, b: TrainState) -> bool:
    """Same bits of parameters and optimiser."""
    return a.optimizer.steps == b.optimizer.steps and all(map(torch.equal, tensors(a), tensors(b)))


# --- what a step equals


@pytest.mark.parametrize(
    ("learner", "backbone", "optimizer", "M"),
    [
        ("protonet", "conv4", {"name": "adam", "meta_lr": 0.01}, 3),
        ("maml", "conv4", {"name": "sgd", "meta_lr": 0.1, "momentum": 0.9}, 2),
        ("anil", "mlp", {"name": "adamw", "meta_lr": 0.01}, 3),
        ("meta-sgd", "mlp", {"name": "sgd", "meta_lr": 0.1, "weight_decay": 0.01}, 3),
        ("proto-maml", "mlp", {"name": "adam", "meta_lr": 0.01}, 2),
    ],
)
def test_tow_with_beta_to_infinity_is_uniform_training_bit_for_bit(learner, backbone, optimizer, M):
    made = learner_named(learner, backbone)
    objective, windows = tp.Objective(made), image_windows(3, 2, M)
    start = state_of(made, optimizer, torch.float32)

    def trained(weighter: Weighter) -> tuple[TrainState, list[Any]]:
        state, said = start, []
        for window in windows:
            state, records = trained_on(
                train_step(state, window, objective=objective, weighter=weighter, seed=5)
            )
            said += [(r.losses, r.accuracies, r.weights) for r in records]
        return state, said

    plain, plain_said = trained(tp.Uniform())
    for weighter in (
        tp.TOW(beta=1e30),
        tp.TOW(beta=1e30, bounds="simplex"),
        tp.TOW.faithful(beta=1e30),
    ):
        planned, said = trained(weighter)
        assert same_training(planned, plain)
        assert said == plain_said
    assert not same_training(trained(tp.TOW(beta=0.01))[0], plain), "a small beta is felt"
    assert not same_training(plain, start)


@pytest.mark.parametrize("weighter", [tp.Uniform(), tp.Exploitation(), tp.TOW(beta=0.1)])
@pytest.mark.parametrize("kind", [ProtoNet, MAML])
def test_a_window_of_any_shot_tasks_trains_as_task_by_task(kind, weighter):
    torch.manual_seed(0)
    outputs = 5 if kind is ProtoNet else 3
    learner = kind(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, outputs)).to(F64))
    shots = [(1, 1, 1), (5, 2, 1), (1, 10, 3), (2, 2, 2)]
    windows = [
        [
            [classification(s, 1 + (n + t + i) % 3, seed=50 * n + 9 * t + i)
             for i, s in enumerate(shots)]
            for t in range(3)
        ]
        for n in range(2)
    ]  # fmt: skip
    assert len({len(task.support_x) for task in windows[0][0]}) == len(shots)
    state = state_of(learner, {"name": "adam", "meta_lr": 0.05}, F64)
    params = {n: p.detach().clone().requires_grad_() for n, p in learner.parameters().items()}
    optimizer = torch.optim.Adam(params.values(), lr=0.05)
    for n, window in enumerate(windows):
        state, records = trained_on(
            train_step(state, window, objective=tp.Objective(learner), weighter=weighter, seed=n)
        )
        for batch, record in zip(window, records, strict=True):
            losses, gradients = [], []
            for task in batch:
                loss = nn.functional.cross_entropy(learner(params, task), task.query_y)
                gradients.append(torch.autograd.grad(loss, list(params.values())))
                losses.append(float(loss.detach()))
            assert record.losses == pytest.approx(losses, rel=1e-9)
            weighted = zip(*gradients, strict=True)
            for p, pieces in zip(params.values(), weighted, strict=True):
                p.grad = sum(w * g for w, g in zip(record.weights, pieces, strict=True))
            optimizer.step()
        if isinstance(weighter, tp.TOW):
            assert records[0].plan.cost < records[0].plan.nominal_cost
    for name, value in state.params.items():
        torch.testing.assert_close(value, params[name].detach(), rtol=1e-8, atol=1e-9)
    assert (state.step, state.window, state.tasks) == (6, 2, 24)


@pytest.mark.parametrize("weighter", [tp.Random(), tp.TOW(beta=0.1)])
def test_a_step_changes_none_of_its_inputs(weighter):
    learner = learner_named("maml", "mlp")
    state = state_of(learner, {"name": "adam"}, torch.float32)
    (window,) = image_windows(1, 2, 2)

    def inputs() -> list[Any]:
        episodes = [part for batch in window for e in batch for part in (e.support_x, e.query_x)]
        held = [*tensors(state), *learner.parameters().values(), *episodes, torch.get_rng_state()]
        return [part.detach().clone() for part in held]

    def step(now: TrainState) -> tuple[TrainState, list[WindowRecord]]:
        return train_step(now, window, objective=tp.Objective(learner), weighter=weighter, seed=1)

    first, _ = step(state)
    plain = copy.deepcopy((state.weighter_state, state.step, state.window, state.evaluations))
    before = inputs()
    memory = copy.deepcopy(first.weighter_state)
    again, records = trained_on(step(state))
    assert all(map(torch.equal, inputs(), before))
    assert plain == (state.weighter_state, state.step, state.window, state.evaluations)
    assert same_training(first, again), "equal inputs, equal outputs"
    step(first)
    assert first.weighter_state == memory
    assert [r.step for r in records] == [1, 2]
    assert records[0].plan is not None
    assert records[1].plan is None


# --- tasks side by side


def evaluations(objective: tp.Objective, learner: Learner, tasks: list[Any]) -> list[Any]:
    """Everything that an objective can say of a mini-batch."""
    params = learner.parameters()
    total = sum(p.numel() for p in params.values())
    like = next(iter(params.values()))
    weights = torch.linspace(0.1, 1, 2 * len(tasks), dtype=like.dtype).reshape(2, -1)
    vector = torch.linspace(-1, 1, total, dtype=like.dtype)
    said: list[Any] = []
    for kind in ("gauss-newton", "hutchinson"):
        e = objective.evaluate(params, tasks, curvature=Curvature(kind, weights, 2), seed=3)
        said += [e.losses, e.gradients, e.accuracies, e.curvature]
    said.append(objective.evaluate(params, tasks, gradients=False, skip={1}).losses)
    said.append(objective.product(params, tasks, weights[0], vector, skip={0}, seed=3))
    return said


@pytest.mark.parametrize("count", [2, 3, None])
@pytest.mark.parametrize("first_order", [True, False])
def test_workers_change_no_bit(count, first_order):
    learner = learner_named("maml", "conv4", first_order=first_order, adaptation_steps=2)
    ((tasks,),) = image_windows(1, 1, 5)
    alone = evaluations(tp.Objective(learner, workers=1), learner, tasks)
    together = evaluations(tp.Objective(learner, workers=count), learner, tasks)
    assert all(map(torch.equal, together, alone))


def dropout_learner() -> Learner:
    torch.manual_seed(0)
    return ProtoNet(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.5)).to(F64))


def test_active_dropout_is_evaluated_by_one_worker(monkeypatch):
    used: list[int] = []
    real = Workers.map

    def noted(self, work, items):
        used.extend(items)
        return real(self, work, items)

    monkeypatch.setattr(Workers, "map", noted)
    learner, tasks = dropout_learner(), [classification((1, 1), seed=i) for i in range(4)]
    alone, side_by_side = tp.Objective(learner, workers=1), tp.Objective(learner, workers=2)
    masked = evaluations(alone, learner, tasks)
    assert all(map(torch.equal, evaluations(side_by_side, learner, tasks), masked))
    assert used == []
    learner.module.eval()
    clear = evaluations(alone, learner, tasks)
    assert all(map(torch.equal, evaluations(side_by_side, learner, tasks), clear))
    assert used
    assert not torch.equal(masked[0], clear[0])


def test_workers_follow_the_modes_and_buffers_of_each_part():
    torch.manual_seed(0)
    norm = nn.BatchNorm1d(6)
    assert norm.running_var is not None
    learner = ProtoNet(nn.Sequential(nn.Linear(4, 6), norm, nn.Tanh()).to(F64))
    tasks = [classification((2, 2), seed=i) for i in range(4)]
    alone, side_by_side = tp.Objective(learner, workers=1), tp.Objective(learner, workers=2)
    params = learner.parameters()
    seen = []
    for change in (lambda: None, norm.eval, lambda: norm.running_var.mul_(9), norm.train):
        change()
        losses = alone.evaluate(params, tasks).losses
        assert torch.equal(side_by_side.evaluate(params, tasks).losses, losses)
        seen.append(tuple(losses.tolist()))
    assert len(set(seen)) == 3, "each change matters; the last undoes the first"


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_in_a_task_names_the_task_and_ends_nothing_else(workers):
    learner = learner_named("protonet", "conv4")
    ((tasks,),) = image_windows(1, 1, 4)
    broken = list(tasks)
    broken[2] = classification((1, 1), shape=(1, 8, 8), dtype=torch.float32)
    objective = tp.Objective(learner, workers=workers)
    with pytest.raises(ValueError, match="8") as caught:
        objective.evaluate(learner.parameters(), broken)
    assert "towpath: raised by task 2 of the mini-batch" in caught.value.__notes__
    fine = objective.evaluate(learner.parameters(), tasks)
    assert torch.equal(
        fine.losses, tp.Objective(learner, workers=1).evaluate(learner.parameters(), tasks).losses
    )


# --- bad numbers


class SecondBackward(torch.autograd.Function):
    """The identity whose second backward pass, that of the curvature's sketch, is NaN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.passes = 0
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Tensor:
        ctx.passes += 1
        return cotangents[0] * (math.nan if ctx.passes == 2 else 1.0)


FAULTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "loss nan": lambda output, w: output * math.nan,
    "loss inf": lambda output, w: output * math.inf,
    "gradient nan": lambda output, w: output + (w * 0).sum().sqrt(),  # 0, with slope inf * 0
    "curvature nan": lambda output, w: SecondBackward.apply(output),
    "silent": lambda output, w: output * 0,  # towards targets of 0: no loss, gradient, curvature
}
MUTED_FAULTS = ["loss nan", "loss inf", "gradient nan"]


def regression_objective() -> tp.Objective:
    def fn(params: Mapping[str, Tensor], task: Any) -> tuple[Tensor, Tensor]:
        x, y, fault = task
        output = torch.tanh(x @ params["w"])
        if fault is None:
            return output, y
        return FAULTS[fault](output, params["w"]), torch.zeros_like(y) if fault == "silent" else y

    return tp.Objective.from_function(fn, loss="mse")


def regression_window(T: int, M: int, seed: int, bad: Mapping[tuple[int, int], str]) -> Window:
    generator = torch.Generator().manual_seed(seed)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=F64)

    return [[(numbers(5, 3), numbers(5, 2), bad.get((t, i))) for i in range(M)] for t in range(T)]


def regression_state(optimizer: dict[str, Any] | None = None) -> TrainState:
    w = torch.linspace(-1, 1, 6, dtype=F64).reshape(3, 2)
    chosen = Component.of("optimizer", optimizer or {"name": "sgd", "meta_lr": 0.5})
    return TrainState({"w": w}, make_optimizer(chosen, {"w": w}))


def step(state: TrainState, window: Window, weighter: Weighter, **options: Any) -> Any:
    return train_step(
        state, window, objective=regression_objective(), weighter=weighter, seed=2, **options
    )


@pytest.mark.parametrize("fault", MUTED_FAULTS)
@pytest.mark.parametrize(
    "weighter", [tp.TOW(beta=0.1), tp.TOW(beta="auto"), tp.TOW.faithful(beta=0.1)]
)
def test_tow_trains_with_a_bad_task_as_with_one_that_has_nothing_to_say(weighter, fault):
    places = [(0, 1), (2, 0), (2, 2)]
    state, records = step(
        regression_state(), regression_window(3, 4, 0, dict.fromkeys(places, fault)), weighter
    )
    silent, silent_records = step(
        regression_state(), regression_window(3, 4, 0, dict.fromkeys(places, "silent")), weighter
    )
    assert same_training(state, silent)
    assert records[0].plan.cost == silent_records[0].plan.cost
    assert records[0].plan.cost < records[0].plan.nominal_cost


@pytest.mark.parametrize("fault", MUTED_FAULTS)
@pytest.mark.parametrize("weighter", [tp.Uniform(), tp.Exploration(), tp.Exploitation()])
def test_a_rule_trains_with_bad_tasks_as_without_them(weighter, fault):
    places = {(0, 1): fault, (1, 0): fault, (2, 3): fault}
    window = regression_window(3, 4, 0, places)
    state, records = step(regression_state(), window, weighter)
    without = [[task for task in batch if task[2] is None] for batch in window]
    reference, others = step(regression_state(), without, weighter)
    torch.testing.assert_close(state.params["w"], reference.params["w"], rtol=1e-12, atol=1e-12)
    for record, other in zip(records, others, strict=True):
        assert record.loss == pytest.approx(other.loss, rel=1e-12)
    assert state.tasks == reference.tasks == 9


@pytest.mark.parametrize("fault", MUTED_FAULTS)
@pytest.mark.parametrize("weighter", [tp.TOW(beta=10.0), tp.Uniform(), tp.Random()])
def test_a_bad_task_is_recorded_with_weight_0_and_is_no_failure(weighter, fault):
    places = {(1, 0): fault, (0, 2): fault}
    state, records = step(regression_state(), regression_window(2, 3, 0, places), weighter)
    assert records[0].events == [
        Event("task not finite", 0, 2),
        Event("task not finite", 1, 0),
    ]
    for t, record in enumerate(records):
        for i in range(3):
            bad = (t, i) in places
            assert (record.weights[i] == 0) == bad
            assert (record.losses[i] is None) == bad
        good = [value for value in record.losses if value is not None]
        assert record.loss == pytest.approx(sum(good) / 2)
    assert (state.failures, state.step, state.tasks) == (0, 2, 4)
    plain, _ = step(regression_state(), regression_window(2, 3, 0, {}), weighter)
    assert state.evaluations > plain.evaluations, "plans that were given up cost something, too"


def test_an_episode_of_nan_images_is_muted_for_a_real_learner():
    learner = learner_named("protonet", "conv4")
    (window,) = image_windows(1, 2, 3)
    task = window[1][2]
    nothing = torch.full_like(task.query_x, math.nan)
    window[1][2] = tp.Episode(task.support_x, task.support_y, nothing, task.query_y, {"index": 7})
    state, records = trained_on(
        train_step(
            state_of(learner, {"name": "adam"}, torch.float32),
            window,
            objective=tp.Objective(learner, workers=2),
            weighter=tp.TOW(),
        )
    )
    assert records[0].events == [Event("task not finite", 1, 2)]
    assert records[1].weights[2] == 0
    assert records[1].accuracies[2] is None
    assert records[1].tasks[2] == {"index": 7}
    assert all(bool(part.isfinite().all()) for part in tensors(state))


def with_target(fault: str) -> Any:
    """A step on good tasks whose targets have one that goes wrong."""
    tow = tp.TOW.towards_targets(shrink="none", curvature="gauss-newton")
    goals = regression_window(2, 3, 9, {(1, 0): fault})
    return step(regression_state(), regression_window(2, 4, 0, {}), tow, targets=goals)


@pytest.mark.parametrize("fault", MUTED_FAULTS)
def test_a_bad_target_is_left_out_and_recorded(fault):
    state, records = with_target(fault)
    silent, silent_records = with_target("silent")
    assert same_training(state, silent)
    assert records[0].plan.cost == silent_records[0].plan.cost
    assert records[0].plan.cost < records[0].plan.nominal_cost
    assert records[0].events == [Event("target not finite", 1, 0)]
    assert (state.failures, state.tasks) == (0, 8)


def test_a_target_with_a_bad_curvature_keeps_the_nominal_and_is_recorded():
    state, records = with_target("curvature nan")
    uniform, _ = step(regression_state(), regression_window(2, 4, 0, {}), tp.Uniform())
    assert same_training(state, uniform)
    event = Event("plan failed: non-finite derivative, nominal kept")
    assert records[0].events == [event]
    assert state.failures == 1


@pytest.mark.parametrize("fault", MUTED_FAULTS)
@pytest.mark.parametrize("fast", [False, True])
def test_targets_that_are_always_bad_end_no_training(fault, fast):
    tow = tp.TOW.towards_targets(shrink="none", **({"query_share": 0.5} if fast else {}))
    one, every = {(0, 0): fault, (1, 0): fault}, {(t, i): fault for t in range(2) for i in range(2)}
    objective = parted(regression_objective())
    for places in (one, every):
        state = regression_state()
        for n in range(4):
            goals = regression_window(2, 2, 90 + n, places)
            window = regression_window(2, 4, n, {})
            state, records = train_step(
                state, window, objective=objective, weighter=tow, targets=goals, seed=2
            )
            events = records[0].events
            assert {event.text for event in events} == {"target not finite"}
            assert len(events) == len(places)
        assert (state.failures, state.step) == (0, 8)


def parted(objective: tp.Objective) -> tp.Objective:
    return tp.Objective.from_function(
        objective.source.function,
        "mse",
        part=lambda task, share: (task[0][:2], task[1][:2], task[2]),
    )


SIMPLEX: dict[str, Weighter] = {
    "auto": tp.TOW(beta="auto", bounds="simplex"),
    "fixed": tp.TOW(beta=0.05, bounds="simplex"),
    "random": tp.TOW(beta=0.05, bounds="simplex", nominal="random"),
    "fast": tp.TOW.fast(beta="auto", bounds="simplex", query_share=0.5),
    "softmax": tp.TOW(beta=0.05, bounds="none", normalise="softmax"),
    "targets": tp.TOW.towards_targets(shrink="none"),
    "targets that agree": tp.TOW.towards_targets(),
}


@pytest.mark.parametrize("fault", MUTED_FAULTS)
@pytest.mark.parametrize("name", SIMPLEX)
def test_muted_tasks_weigh_nothing_on_the_simplex_and_the_others_sum_to_1(name, fault):
    places = {(0, 1): fault, (0, 2): fault, (2, 0): fault}
    window = regression_window(3, 4, 0, places)
    goals = regression_window(3, 2, 5, {}) if "targets" in name else None
    state, records = trained_on(
        train_step(
            regression_state(),
            window,
            objective=parted(regression_objective()),
            weighter=SIMPLEX[name],
            targets=goals,
            seed=2,
        )
    )
    for t, record in enumerate(records):
        weights = torch.tensor(record.weights, dtype=F64)
        assert float(weights.sum()) == pytest.approx(1.0, abs=1e-12)
        assert all((weights[i] == 0) for i in range(4) if (t, i) in places)
    assert state.failures == 0
    assert records[0].plan.cost <= records[0].plan.nominal_cost
    assert max(abs(w - 0.5) for w in records[0].weights if w) > 1e-3, "uniform proves little"


def test_on_the_simplex_a_window_with_muted_tasks_trains_as_one_without_them():
    places = {(t, 1): "loss nan" for t in range(3)}
    window = regression_window(3, 4, 0, places)
    for weighter in (SIMPLEX["fixed"], SIMPLEX["softmax"], SIMPLEX["auto"]):
        state, records = step(regression_state(), window, weighter)
        without = [[task for task in batch if task[2] is None] for batch in window]
        alone, others = step(regression_state(), without, weighter)
        if weighter is not SIMPLEX["auto"]:  # its spread is relative to 1/M
            torch.testing.assert_close(state.params["w"], alone.params["w"], rtol=1e-9, atol=1e-9)
            for record, other in zip(records, others, strict=True):
                left = [w for i, w in enumerate(record.weights) if i != 1]
                assert left == pytest.approx(other.weights, abs=1e-9)


def test_a_quadratic_programme_that_stops_early_says_so_in_the_status(monkeypatch):
    window = regression_window(3, 4, 0, {})
    tow = tp.TOW(beta=1e-4, bounds="simplex", iterations=1)
    state = regression_state()

    def status() -> tp.Status:
        plan = tow.plan(regression_objective(), state.params, state.optimizer, window)
        assert plan.status.usable
        assert not plan.status.failed
        return plan.status

    assert status() is not tp.Status.QUADRATIC_LIMIT
    monkeypatch.setattr(quadratic, "LIMIT", 1)
    monkeypatch.setattr(quadratic, "LIMIT_A_WEIGHT", 0)
    assert status() is tp.Status.QUADRATIC_LIMIT


@pytest.mark.parametrize("weighter", [tp.Uniform(), tp.TOW(beta=0.1), tp.TOW(terminal="replay")])
def test_a_last_step_that_diverges_is_seen_in_its_own_window(weighter):
    """Finite parameters, but no loss is: the step before the last one was fine."""

    def fn(params: Mapping[str, Tensor], task: Any) -> tuple[Tensor, Tensor]:
        x, y, _ = task
        return torch.exp(x @ params["w"]), y

    start = regression_state({"name": "sgd", "meta_lr": 1e5})
    window = regression_window(1, 3, 0, {})
    after, records = train_step(
        start,
        window,
        objective=tp.Objective.from_function(fn, loss="mse"),
        weighter=weighter,
        seed=2,
    )
    assert same_training(after, start)
    assert (after.step, after.failures) == (0, 1)
    assert "window skipped" in records[0].events[-1].text


def test_a_task_that_alone_is_not_finite_after_the_last_step_skips_no_window():
    calls: list[int] = []

    def fn(params: Mapping[str, Tensor], task: Any) -> tuple[Tensor, Tensor]:
        x, y, name = task
        calls.append(1)
        bad = name == "late" and len(calls) > 3
        return (x @ params["w"]) * (math.nan if bad else 1.0), y

    window = regression_window(1, 3, 0, {(0, 0): "late"})
    after, _ = train_step(
        regression_state(),
        window,
        objective=tp.Objective.from_function(fn, loss="mse"),
        weighter=tp.Uniform(),
    )
    assert (after.step, after.failures) == (1, 0)
    assert len(calls) == 5, "one mini-batch, the bad one again, and one other"


@pytest.mark.parametrize("weighter", [tp.TOW(beta=0.1), tp.TOW.faithful(beta=0.1)])
def test_a_plan_that_fails_keeps_the_nominal_and_is_recorded_and_a_good_one_resets_it(weighter):
    broken = regression_window(2, 4, 0, {(1, 2): "curvature nan"})
    state, records = step(regression_state(), broken, weighter)
    uniform, _ = step(regression_state(), regression_window(2, 4, 0, {}), tp.Uniform())
    assert same_training(state, uniform)
    event = Event("plan failed: non-finite derivative, nominal kept")
    assert records[0].events == [event]
    assert records[0].weights == [0.25] * 4
    assert (state.failures, state.step, state.window) == (1, 2, 1)
    state, _ = step(state, broken, weighter)
    assert state.failures == 2
    state, records = step(state, regression_window(2, 4, 1, {}), weighter)
    assert state.failures == 0
    assert not records[0].events


@pytest.mark.parametrize("weighter", [tp.TOW(beta=0.1), tp.Random()])
@pytest.mark.parametrize(
    "why", ["the step overflows", "no task is finite", "no task is finite any more"]
)
def test_a_window_that_cannot_be_rolled_out_leaves_the_state_and_is_recorded(weighter, why):
    good, _ = step(regression_state(), regression_window(2, 3, 0, {}), weighter)
    start = good
    places = {(t, i): "loss nan" for t in range(2) for i in range(3)}
    reason = "no task of the last mini-batch is finite"
    if why == "no task is finite any more":
        places = {place: fault for place, fault in places.items() if place[0] == 1}
    if why == "the step overflows":
        # parameters whose step overflows though every loss and gradient is finite
        huge = make_optimizer(
            Component("sgd", {"meta_lr": 1.7e308, "weight_decay": 9.0}), good.params
        )
        start, reason, places = replace(good, optimizer=huge), "non-finite nominal", {}
    after, records = step(start, regression_window(2, 3, 1, places), weighter)
    assert same_training(after, start)
    assert after.weighter_state == start.weighter_state
    assert (after.step, after.tasks) == (start.step, start.tasks)
    assert (after.window, after.failures) == (start.window + 1, start.failures + 1)
    assert after.evaluations > start.evaluations
    (record,) = records
    assert record.step == start.step
    assert record.events[-1] == Event(f"plan failed: {reason}, window skipped")


class FailsAfterTwoWindows:
    """A user's weighter whose third window, and every later one, cannot be rolled out."""

    def plan(self, *what: Any, state: Mapping[str, Any] | None = None, **options: Any) -> tp.Plan:
        windows = 0 if state is None else state["windows"]
        plan = tp.Uniform().plan(*what, **options)
        status = tp.Status.NON_FINITE_NOMINAL if windows >= 2 else plan.status
        return replace(plan, status=status, weighter_state={"windows": windows + 1})


def recipe(**sections: Any) -> Recipe:
    return Recipe.of(
        {
            "name": "bad numbers",
            "episodes": {"ways": 2, "shots": 1, "query": 1},
            "backbone": {"name": "conv4", "filters": 2},
            "training": {"steps": 40, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 2},
            "validation": {"every": 0},
            "test": {"tasks": 2},
            "threads": 1,
            **sections,
        }
    )


def stopped(path: Path, asked: Recipe) -> tuple[TrainState, TrainState, list[Record]]:
    """The start, the state in the last checkpoint and the records of a training that must end."""
    reporter = ConsoleReporter(Console(file=io.StringIO()))
    with pytest.raises(TrainingStoppedError) as caught:
        train(path, asked, reporter, allowed=("tests",))
    assert "3 windows in a row could not be planned" in str(caught.value)
    assert "last good state" in str(caught.value)
    start = prepare(asked, allowed=("tests",)).start
    found = load_checkpoint(path / "checkpoints", start, Origin.of(RunFolder(path)))
    assert found is not None
    return start, found.state, list(RunFolder(path).records())


def test_three_failed_windows_in_a_row_end_training_with_the_last_good_state(tmp_path):
    asked = recipe(weighter={"name": f"{__name__}:FailsAfterTwoWindows"})
    start, kept, records = stopped(tmp_path / "run", asked)
    setup = prepare(asked, allowed=("tests",))
    state = start
    for position in range(2):
        window, _ = setup.window(position, 40)
        state, _ = train_step(
            state, window, objective=setup.objective, weighter=tp.Uniform(), seed=asked.seed
        )
    assert same_training(kept, state)
    assert (kept.step, kept.window, kept.failures) == (4, 5, 3)
    skipped = [record for record in records if isinstance(record, SkippedWindow)]
    assert [r.window for r in skipped] == [2, 3, 4]


def test_a_training_that_diverges_ends_with_the_parameters_it_began_with(tmp_path):
    asked = recipe(optimizer={"name": "sgd", "meta_lr": 1e38})
    start, kept, records = stopped(tmp_path / "run", asked)
    assert same_training(kept, start)
    assert (kept.step, kept.failures) == (0, 3)
    skipped = [record for record in records if isinstance(record, SkippedWindow)]
    assert len(skipped) == len(records) == 3
    assert all("window skipped" in record.events[-1].text for record in skipped)
