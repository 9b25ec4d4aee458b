"""The loss of a task through each learner: gradient and Gauss-Newton against dense references, and
draws that are a function of (seed, task) alone, whatever the workers."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest
import torch
from torch import Tensor

import towpath as tp
from tests.learners.tasks import classification
from tests.oracles.compare import assert_close
from tests.oracles.curvature import gauss_newton_diagonal
from towpath.backbones import MLP
from towpath.learners import LEARNERS, Learner
from towpath.objective import Curvature
from towpath.objective.draws import derived_seed
from towpath.objective.predicted import Predicted

SEED = 5
TASKS = [classification((1, 3, 2), seed=i) for i in range(5)]
INNER_LOOPS = {n for n, kind in LEARNERS.items() if "first_order" in signature(kind).parameters}
ORDERS = [
    (n, order) for n in LEARNERS for order in ((True, False) if n in INNER_LOOPS else (None,))
]


def made(name: str, first_order: bool | None) -> Learner:
    torch.manual_seed(0)
    kind = LEARNERS[name]
    model = MLP(4, None if kind.wants_embedding else 3, (5,), "tanh").double()
    options: dict[str, Any] = {"adaptation_steps": 2, "first_order": first_order}
    make: Callable[..., Learner] = kind
    return make(model) if first_order is None else make(model, **options)


def predicted(learner: Learner, params, task, index: int) -> Predicted:
    torch.manual_seed(derived_seed(SEED, index))
    return Predicted.by(learner.adapt(params, task.support_x, task.support_y), task)


@pytest.mark.parametrize(("name", "first_order"), ORDERS)
def test_loss_gradient_and_gauss_newton_equal_autograd_and_the_dense_matrix(name, first_order):
    learner = made(name, first_order)
    params = {key: p.detach().double().requires_grad_() for key, p in learner.parameters().items()}
    weights = torch.tensor([[0.5, 2.0]], dtype=torch.float64)
    said = tp.Objective(learner).evaluate(
        params, TASKS[:2], curvature=Curvature("gauss-newton-exact", weights), seed=SEED
    )
    total = torch.zeros(said.gradients.shape[1], dtype=torch.float64)
    for i, task in enumerate(TASKS[:2]):
        loss = predicted(learner, params, task, i).loss()
        gradient = torch.autograd.grad(loss, list(params.values()))
        assert_close(said.losses[i], loss.detach(), 1e-12)
        assert_close(said.gradients[i], torch.cat([g.reshape(-1) for g in gradient]), 1e-10)

        def outputs(at, task, i=i) -> tuple[Tensor, Tensor]:
            found = predicted(learner, at, task, i)
            rows = found.rows_of_draws().outputs
            return rows, task.query_y.repeat_interleave(len(rows) // len(task.query_y))

        total += weights[0, i] * gauss_newton_diagonal(
            outputs, params, task, "cross_entropy", functorch=False
        )
    assert said.curvature is not None
    assert_close(said.curvature[0], total, 1e-9)


@pytest.mark.parametrize("name", LEARNERS)
def test_workers_and_the_state_of_the_generator_change_nothing(name):
    learner = made(name, False if name in INNER_LOOPS else None)
    params = learner.parameters()
    weights = torch.linspace(0.1, 1, len(TASKS), dtype=torch.float64)[None]
    asked = {"curvature": Curvature("gauss-newton", weights), "seed": SEED}
    found = []
    for workers in (1, 2):
        torch.manual_seed(workers)
        state = torch.get_rng_state()
        objective = tp.Objective(learner, workers=workers)
        for _ in range(2):  # the first evaluation finds out whether the learner draws
            said = objective.evaluate(params, TASKS, **asked)
            found.append((said.losses, said.gradients, said.curvature))
        assert torch.equal(torch.get_rng_state(), state)
    for others in found[1:]:
        assert all(map(torch.equal, others, found[0]))
    alone = tp.Objective(learner).evaluate(params, TASKS, skip={0, 1, 3, 4}, seed=SEED)
    assert torch.equal(alone.gradients[2], found[0][1][2]), "whatever the other tasks do"


@pytest.mark.parametrize("name", ["abml", "bayesian-taml", "mt-net"])
def test_seed_stage_and_task_decide_what_a_learner_draws(name):
    learner = made(name, False)
    objective, params = tp.Objective(learner, workers=2), learner.parameters()
    same = [TASKS[0]] * 3
    losses = objective.evaluate(params, same, seed=SEED).losses
    assert len(set(losses.tolist())) == 3, "a task of its own, draws of its own"
    assert torch.equal(objective.evaluate(params, same, seed=SEED).losses, losses)
    assert not torch.equal(objective.evaluate(params, same, seed=SEED + 1).losses, losses)


@pytest.mark.parametrize("targets", [False, True], ids=["own cost", "targets"])
@pytest.mark.parametrize("name", ["abml", "bayesian-taml", "mt-net"])
def test_a_plan_ends_where_torchs_sgd_on_its_weighted_losses_ends(name, targets):
    """Task i of stage t draws from the seed of i within the seed of t, wherever it is evaluated.

    Not Adam, whose first step is a sign: weights change it hardly at all.
    """
    learner = made(name, False)
    start = {key: p.detach().clone() for key, p in learner.parameters().items()}
    window = [TASKS[:3], TASKS[2:]]
    tow = tp.TOW.towards_targets(shrink="none") if targets else tp.TOW(beta=1e-3)
    plan = tow.plan(
        tp.Objective(learner, workers=2),
        learner.module,
        torch.optim.SGD(learner.module.parameters(), lr=0.02),
        window,
        targets=[[TASKS[0]], [TASKS[4]]] if targets else None,
        seed=SEED,
    )
    assert float(plan.weights.std()) > 0
    assert plan.cost < plan.nominal_cost

    leaves = {key: p.requires_grad_() for key, p in start.items()}
    optimizer = torch.optim.SGD(leaves.values(), lr=0.02)
    for t, (tasks, weights) in enumerate(zip(window, plan.weights, strict=True)):
        optimizer.zero_grad()
        for i, (task, weight) in enumerate(zip(tasks, weights, strict=True)):
            torch.manual_seed(derived_seed(derived_seed(SEED, t), i))
            predictor = learner.adapt(leaves, task.support_x, task.support_y)
            (weight * Predicted.by(predictor, task).loss()).backward()
        optimizer.step()
    assert_close(plan.final.x, torch.cat([p.detach().reshape(-1) for p in leaves.values()]), 1e-9)
