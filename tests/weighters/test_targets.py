"""What a rule sees of its targets: losses, gradients, look-aheads and influence, and their cost."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

import towpath as tp
from towpath.dynamics import OptimiserState
from towpath.runs.records import Event
from towpath.weighters import Muted
from towpath.weighters.rules.targets import Targets

M, N, LR = 4, 3, 0.05
OPTIMISERS: dict[str, tp.SGD | tp.Adam] = {
    "sgd": tp.SGD(lr=LR, weight_decay=0.01),
    "momentum": tp.SGD(lr=LR, momentum=0.9, dampening=0.2),
    "nesterov": tp.SGD(lr=LR, momentum=0.8, nesterov=True),
    "adam": tp.Adam(lr=LR, betas=(0.8, 0.95), weight_decay=0.01),
    "adamw": tp.Adam(lr=LR, betas=(0.8, 0.95), weight_decay=0.1, decoupled=True),
}
Task = tuple[Tensor, Tensor]
Params = dict[str, Tensor]


def fn(params: Any, task: Task) -> tuple[Tensor, Tensor]:
    return torch.tanh(task[0] @ params["a"]) @ params["b"], task[1]


def task(seed: int) -> Task:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    return x, torch.randn(6, generator=generator, dtype=torch.float64)


def loss(params: Any, tasks: list[Task]) -> Tensor:
    """The sum of the tasks' losses, by hand."""
    said = [fn(params, one) for one in tasks]
    return torch.stack([(out - target).square().mean() for out, target in said]).sum()


def flat_gradient(params: Params, tasks: list[Task]) -> Tensor:
    leaves = {name: p.clone().requires_grad_() for name, p in params.items()}
    pieces = torch.autograd.grad(loss(leaves, tasks), list(leaves.values()))
    return torch.cat([piece.reshape(-1) for piece in pieces])


OBJECTIVE = tp.Objective.from_function(fn, loss="mse")
TASKS = [task(i) for i in range(M)]
TARGETS = [task(100 + j) for j in range(N)]
U = torch.tensor([0.4, 0.1, 0.3, 0.6], dtype=torch.float64)


@dataclass(frozen=True)
class Asking(tp.MiniBatchWeighter):
    """A rule that asks its targets one thing, keeps the answer and weighs equally."""

    ask: Callable[[Targets], Any]
    answers: list[Any] = field(default_factory=list)

    wants_targets = True

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        self.answers.append(self.ask(batch.targets))
        return torch.ones(len(batch)) / len(batch), state


@dataclass(frozen=True)
class Fixed(tp.MiniBatchWeighter):
    """The weights that it was given."""

    given: Tensor

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        return self.given, state


def warm(name: str) -> tuple[Params, OptimiserState]:
    """Parameters and moments after some steps of training."""
    generator = torch.Generator().manual_seed(7)
    params = {
        "a": torch.randn(3, 4, generator=generator, dtype=torch.float64),
        "b": torch.randn(4, generator=generator, dtype=torch.float64),
    }
    window = [[task(50 + 4 * t + i) for i in range(M)] for t in range(3)]
    plan = tp.Uniform().plan(OBJECTIVE, params, OPTIMISERS[name].init(params), window)
    return plan.params, plan.optimizer_state


def answer(
    name: str,
    ask: Callable[[Targets], Any],
    *,
    tasks: list[Task] = TASKS,
    targets: list[Task] = TARGETS,
    muted: Muted | None = None,
) -> tuple[Any, tp.Plan]:
    params, optimizer = warm(name)
    rule = Asking(ask)
    plan = rule.plan(
        OBJECTIVE, params, optimizer, [tasks], targets=[targets], muted=muted or Muted()
    )
    return (rule.answers[-1] if rule.answers else None), plan


def loss_after(name: str, u: Tensor) -> float:
    """The targets' loss after a step of training with weights u: no look-ahead is asked."""
    params, optimizer = warm(name)
    return float(loss(Fixed(u).plan(OBJECTIVE, params, optimizer, [TASKS]).params, TARGETS))


@pytest.mark.parametrize("name", OPTIMISERS)
def test_the_influence_at_virtual_sgd_is_the_derivative_of_the_loss_after_plain_sgd(name):
    s, _ = answer(name, lambda targets: targets.influence(U, sgd=True))
    params, _ = warm(name)
    rows = torch.stack([flat_gradient(params, [one]) for one in TASKS])
    x = torch.cat([p.reshape(-1) for p in params.values()])

    def after(u: Tensor) -> float:
        moved = x - LR * u @ rows
        return float(loss({"a": moved[:12].reshape(3, 4), "b": moved[12:]}, TARGETS))

    h = 1e-5
    for i in range(M):
        e = torch.zeros(M, dtype=torch.float64)
        e[i] = h
        assert float(s[i]) == pytest.approx((after(U - e) - after(U + e)) / (2 * h), abs=1e-6)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_the_influence_ahead_is_the_derivative_of_the_targets_loss_in_the_weights(name):
    s, _ = answer(name, lambda targets: targets.influence(U))
    h = 1e-5
    for i in range(M):
        e = torch.zeros(M, dtype=torch.float64)
        e[i] = h
        slope = (loss_after(name, U + e) - loss_after(name, U - e)) / (2 * h)
        assert float(s[i]) == pytest.approx(-slope, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_the_influence_here_has_the_targets_gradient_at_x_and_the_uniform_step(name):
    s, _ = answer(name, lambda targets: targets.influence())
    params, held = warm(name)
    v = flat_gradient(params, TARGETS)
    rows = torch.stack([flat_gradient(params, [one]) for one in TASKS])
    g = rows.mean(0).requires_grad_()
    # the optimisers' formulas by hand, differentiated by autograd
    rule, x = OPTIMISERS[name], held.dynamics.layout.flatten(list(params.values()))
    if isinstance(rule, tp.SGD):
        G = g + rule.weight_decay * x
        if rule.momentum == 0:
            step = G
        else:
            buffer = rule.momentum * held.slots[0] + (1 - rule.dampening) * G
            step = G + rule.momentum * buffer if rule.nesterov else buffer
        after = x - rule.lr * step
    else:
        b1, b2 = rule.betas
        G = g if rule.decoupled else g + rule.weight_decay * x
        n = held.steps[0] + 1
        m, second = b1 * held.slots[0] + (1 - b1) * G, b2 * held.slots[1] + (1 - b2) * G**2
        step = (m / (1 - b1**n)) / ((second / (1 - b2**n)).sqrt() + rule.eps)
        decay = rule.lr * rule.weight_decay if rule.decoupled else 0.0
        after = (1 - decay) * x - rule.lr * step
    (b,) = torch.autograd.grad(after.sum(), g)
    torch.testing.assert_close(s, -rows @ (b * v), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_look_ahead_is_at_the_optimisers_step_or_at_a_virtual_one_of_sgd(name):
    def ask(targets: Targets) -> tuple[Any, Any, Any]:
        return (targets.losses, targets.gradient), targets.ahead(U), targets.ahead(U, sgd=True)

    (here, ahead, virtual), _ = answer(name, ask)
    params, held = warm(name)
    torch.testing.assert_close(here[0].sum(), loss(params, TARGETS))
    torch.testing.assert_close(here[1], flat_gradient(params, TARGETS))
    assert float(ahead.loss) == pytest.approx(loss_after(name, U), rel=1e-12)
    layout = held.dynamics.layout
    step = U @ torch.stack([flat_gradient(params, [one]) for one in TASKS])
    moved = layout.unflatten(layout.flatten(list(params.values())) - LR * step)
    torch.testing.assert_close(virtual.loss, loss(moved, TARGETS))
    torch.testing.assert_close(virtual.gradient, flat_gradient(moved, TARGETS))


def test_only_what_is_asked_for_is_computed_once_and_counted():
    def several(targets: Targets) -> None:
        assert len(targets) == N
        targets.influence(U)
        assert targets.ahead(U) is targets.ahead(U.clone())
        assert float(targets.loss) == pytest.approx(float(targets.losses.sum()))
        targets.influence()

    share = N / M
    for ask, times in (
        (lambda targets: None, 0),
        (lambda targets: targets.influence(), 1),
        (several, 2),
        (lambda targets: (targets.ahead(U), targets.ahead(U, sgd=True)), 2),
    ):
        _, plan = answer("adam", ask)
        assert plan.evaluations == pytest.approx(1 + times * share)


def test_muted_tasks_and_targets_are_as_if_they_were_not_there():
    broken = (TASKS[0][0] * torch.nan, TASKS[0][1])
    muted = Muted(tasks=frozenset({(0, 1)}), targets=frozenset({(0, 2)}))
    tasks, targets = [TASKS[0], broken, *TASKS[2:]], [*TARGETS[:2], broken]
    u = U[[0, 2, 3]]

    def ask(targets: Targets) -> list[Tensor]:
        return [targets.losses, targets.influence(), targets.influence(u), targets.ahead(u).loss]

    left, plan = answer("momentum", ask, tasks=tasks, targets=targets, muted=muted)
    alone, _ = answer("momentum", ask, tasks=[TASKS[0], *TASKS[2:]], targets=TARGETS[:2])
    assert plan.status.usable
    torch.testing.assert_close(left, alone, rtol=1e-12, atol=1e-14)


def test_a_target_that_is_not_finite_stops_the_plan_and_is_named():
    broken = [TARGETS[0], (TARGETS[1][0] * torch.nan, TARGETS[1][1])]
    _, plan = answer("sgd", lambda targets: targets.influence(), targets=broken)
    assert not plan.status.usable
    assert plan.bad == Muted(targets=frozenset({(0, 1)}))
    # a rule that does not look is not disturbed
    _, plan = answer("sgd", lambda targets: None, targets=broken)
    assert plan.status.usable


def test_training_mutes_a_broken_target_and_goes_on():
    params, optimizer = warm("adam")
    broken = (TARGETS[0][0] * torch.nan, TARGETS[0][1])
    state, records = tp.train_step(
        tp.TrainState(params, optimizer),
        [TASKS, TASKS],
        objective=OBJECTIVE,
        weighter=tp.OPUS(),
        targets=[TARGETS, [broken, *TARGETS]],
    )
    assert state.step == 2
    assert records[0].events == [Event("target not finite", 1, 0)]
    whole, _ = tp.train_step(
        tp.TrainState(params, optimizer),
        [TASKS, TASKS],
        objective=OBJECTIVE,
        weighter=tp.OPUS(),
        targets=[TARGETS, TARGETS],
    )
    torch.testing.assert_close(state.params, whole.params, rtol=1e-12, atol=1e-14)


def test_a_mini_batch_without_targets_says_that_no_task_matters():
    params, optimizer = warm("adam")
    plan = tp.OPUS().plan(OBJECTIVE, params, optimizer, [TASKS, TASKS], targets=[[], TARGETS])
    torch.testing.assert_close(plan.weights[0], torch.full_like(plan.weights[0], 1 / M))
    assert plan.spread > 0.1
    assert plan.evaluations == pytest.approx(2 + N / M)


def test_wrong_questions_are_answered_with_the_right_ones():
    with pytest.raises(ValueError, match=r"expected 4 finite numbers, one for each task"):
        answer("sgd", lambda targets: targets.ahead(U[:2]))
    with pytest.raises(ValueError, match="finite"):
        answer("sgd", lambda targets: targets.influence(U * torch.nan))

    class Silent(tp.MiniBatchWeighter):
        def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> Any:
            return batch.targets.influence(), state

    params, optimizer = warm("sgd")
    with pytest.raises(ValueError, match=r"Write `wants_targets = True` into the class"):
        Silent().plan(OBJECTIVE, params, optimizer, [TASKS])
