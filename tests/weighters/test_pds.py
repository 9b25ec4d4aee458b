"""PDS against the derivative, by autograd, of the targets' loss through unrolled plain SGD."""

import numpy as np
import pytest
import torch

import towpath as tp
from tests.weighters.test_targets import OBJECTIVE, OPTIMISERS, Params, loss, task
from towpath.weighters import Muted

M, T, WINDOWS = 4, 3, 2
LR = 0.05
TASKS = [[[task(100 * n + 10 * t + i) for i in range(M)] for t in range(T)] for n in range(WINDOWS)]
TARGETS = [
    [[task(900 + 100 * n + 10 * t + j) for j in range(2)] for t in range(T)] for n in range(WINDOWS)
]


def beginning() -> Params:
    generator = torch.Generator().manual_seed(1)
    return {
        "a": torch.randn(3, 4, generator=generator, dtype=torch.float64),
        "b": torch.randn(4, generator=generator, dtype=torch.float64),
    }


def scores(params: Params, n: int, u: torch.Tensor) -> np.ndarray:
    """-d/du of the targets' loss along plain SGD with weights u [T, M]."""
    u = u.clone().requires_grad_()
    here = {name: p.clone().requires_grad_() for name, p in params.items()}
    total = torch.zeros((), dtype=torch.float64)
    for t in range(T):
        weighted = sum(u[t, i] * loss(here, [TASKS[n][t][i]]) for i in range(M))
        slopes = torch.autograd.grad(weighted, list(here.values()), create_graph=True)
        here = {name: p - LR * g for (name, p), g in zip(here.items(), slopes, strict=True)}
        total = total + loss(here, TARGETS[n][t])
    (slope,) = torch.autograd.grad(total, u)
    return -slope.numpy()


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_pds_weighs_by_the_derivative_through_plain_sgd_and_trains_with_the_real_optimiser(name):
    params, optimizer = beginning(), OPTIMISERS[name].init(beginning())
    rule = tp.PDS(tau=0.8)
    for n in range(WINDOWS):
        s = scores(params, n, torch.full((T, M), 1 / M, dtype=torch.float64))
        plan = rule.plan(OBJECTIVE, params, optimizer, TASKS[n], targets=TARGETS[n])
        e = np.exp(s / (0.8 * s.std(1, keepdims=True)))
        np.testing.assert_allclose(plan.weights, e / e.sum(1, keepdims=True), rtol=0, atol=1e-6)
        assert plan.status.usable
        assert plan.evaluations == T + T + T * 2 / M
        assert plan.products == T - 1
        again = Fixed(plan.weights)
        same = again.plan(OBJECTIVE, params, optimizer, TASKS[n])
        np.testing.assert_allclose(plan.final.x, same.final.x, rtol=0, atol=1e-12)
        params, optimizer = plan.params, plan.optimizer_state


class Fixed(tp.MiniBatchWeighter):
    """Given weights, one row a mini-batch."""

    def __init__(self, rows: torch.Tensor) -> None:
        self.rows = rows

    def weights(self, batch, state):
        return self.rows[batch.step], state


def test_the_best_share_of_each_mini_batch_takes_the_weight():
    params = beginning()
    s = scores(params, 0, torch.full((T, M), 1 / M, dtype=torch.float64))
    plan = tp.PDS(keep=0.4).plan(
        OBJECTIVE, params, tp.SGD(lr=LR).init(params), TASKS[0], targets=TARGETS[0]
    )
    for row, own in zip(plan.weights, s, strict=True):
        best = np.argsort(-own)[:2]  # ceil(0.4 * 4)
        assert row.tolist() == [0.5 if i in best else 0.0 for i in range(M)]


def test_a_muted_task_is_not_scored_and_weighs_nothing():
    params = beginning()
    u = torch.tensor([[1 / 3, 0, 1 / 3, 1 / 3], [0.25] * 4, [0.25] * 4], dtype=torch.float64)
    s = scores(params, 0, u)
    plan = tp.PDS().plan(
        OBJECTIVE,
        params,
        tp.SGD(lr=LR).init(params),
        TASKS[0],
        targets=TARGETS[0],
        muted=Muted(tasks=frozenset({(0, 1)})),
    )
    kept = s[0, [0, 2, 3]]
    e = np.exp(kept / kept.std())
    np.testing.assert_allclose(plan.weights[0, [0, 2, 3]], e / e.sum(), rtol=0, atol=1e-6)
    assert plan.weights[0, 1] == 0


def test_what_is_not_finite_is_named():
    params = beginning()
    wrong = [[*batch] for batch in TARGETS[0]]
    wrong[1][0] = (wrong[1][0][0] * torch.nan, wrong[1][0][1])
    optimizer = OPTIMISERS["adam"].init(params)
    plan = tp.PDS().plan(OBJECTIVE, params, optimizer, TASKS[0], targets=wrong)
    assert not plan.status.usable
    assert plan.bad.targets == {(1, 0)}
    assert plan.final.equals(plan.initial)
    muted = Muted(targets=plan.bad.targets)
    assert (
        tp.PDS()
        .plan(OBJECTIVE, params, optimizer, TASKS[0], targets=wrong, muted=muted)
        .status.usable
    )


@pytest.mark.parametrize(
    "make", [lambda: tp.PDS(tau=0.0), lambda: tp.PDS(keep=0.0), lambda: tp.PDS(keep=1.5)]
)
def test_options_out_of_range_are_value_errors(make):
    with pytest.raises(ValueError, match="expected"):
        make()
