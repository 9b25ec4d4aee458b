"""Kinds of task, kept or dropped by their pooled influence on the targets."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import towpath as tp
from tests.weighters.problems import F64, Problem, regression, start_of
from towpath.weighters import Muted
from towpath.weighters.kinds import LEAST_TASKS, _Keeping, pooled

NO_GRADIENTS = torch.zeros(0)


def test_the_mean_of_a_kind_and_its_error_are_those_of_weighted_data():
    generator = np.random.default_rng(0)
    s, high = generator.normal(size=60), generator.uniform(size=60)
    low, upper = pooled(np.stack([s, high], 1).tolist())
    for found, p in ((low, 1 - high), (upper, high)):
        assert found is not None
        mean = np.average(s, weights=p)
        assert found[0] == pytest.approx(mean)
        # the variance of a weighted mean of independent values
        assert found[1] == pytest.approx(math.sqrt(np.sum((p / p.sum() * (s - mean)) ** 2)))
    # with whole memberships it is the usual standard error
    sure, none = pooled([[x, 0.0] for x in s])
    assert none is None
    assert sure is not None
    assert sure[1] == pytest.approx(s.std() / math.sqrt(len(s)))
    assert pooled([[1.0, 0.0]] * int(LEAST_TASKS - 1)) == [None, None]
    assert pooled([]) == [None, None]


def judged(seen: list[list[float]], dropped: list[bool]) -> list[bool]:
    """The kinds that are dropped when these influences were seen."""
    rule = {"losses": [], "seen": seen, "waiting": [], "dropped": dropped}
    kinds: list[bool] = tp.Kinds()._judged(rule, None, Muted())["dropped"]
    return kinds


@pytest.mark.parametrize(
    ("errors", "kept_stays", "dropped_stays"),
    [(-2.5, False, True), (-1.5, True, True), (0.5, True, True), (1.5, True, False)],
)
def test_a_kind_is_dropped_below_two_errors_and_taken_back_above_one(
    errors, kept_stays, dropped_stays
):
    values = np.random.default_rng(1).normal(size=40)
    values = values - values.mean()
    values = values + errors * values.std() / math.sqrt(len(values))
    seen = [[float(x), 1.0] for x in values]
    assert judged(seen, [False, False]) == [False, not kept_stays]
    assert judged(seen, [False, True]) == [False, dropped_stays]
    assert judged(seen, [True, False])[0], "nothing was seen of the low kind"


def batch(losses: list[float], trusted: tuple[int, ...] = (), step: int = 0) -> tp.MiniBatch:
    infos = [{"trusted": i in trusted} for i in range(len(losses))]
    return tp.MiniBatch(torch.tensor(losses, dtype=F64), NO_GRADIENTS, infos, step)


MEMORY: dict[str, Any] = {
    "losses": [1.0, 1.1, 0.9, 1.05, 3.0, 3.1, 2.9, 3.05] * 10,
    "seen": [],
    "waiting": [],
}


def weighed(losses: list[float], dropped: list[bool], trusted: tuple[int, ...] = ()) -> Tensor:
    rule = _Keeping(200, 0)
    return rule.weights(batch(losses, trusted), {**MEMORY, "dropped": dropped})[0]


def test_tasks_that_are_kept_weigh_the_same_and_trusted_ones_always_do():
    losses = [1.0, 3.0, 1.1, 3.1]
    quarter = torch.full((4,), 0.25, dtype=F64)
    torch.testing.assert_close(weighed(losses, [False, False]), quarter)
    expected = torch.tensor([0.5, 0.0, 0.5, 0.0], dtype=F64)
    torch.testing.assert_close(weighed(losses, [False, True]), expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(weighed(losses, [True, False]), expected.flip(0), atol=1e-6, rtol=0)
    third = torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=F64) / 3
    torch.testing.assert_close(weighed(losses, [False, True], (1,)), third, atol=1e-6, rtol=0)
    torch.testing.assert_close(weighed(losses, [True, True]), quarter)
    assert float(weighed([3.0, 3.1], [False, True]).sum()) < 1e-5, "no step on dropped tasks alone"


def test_a_trusted_task_that_was_left_out_is_fitted_and_dropped_like_any_other():
    rule, memory = _Keeping(200, 0), {**MEMORY, "dropped": [False, True]}
    losses = [1.0, 3.0, 1.1, 3.1]
    trusted = batch(losses, trusted=(1,))
    infos = [{**info, "left_out": bool(info["trusted"])} for info in trusted.infos]
    doubted = tp.MiniBatch(trusted.losses, NO_GRADIENTS, infos, trusted.step)
    w, after = rule.weights(doubted, memory)
    expected, same = rule.weights(batch(losses), memory)
    assert torch.equal(w, expected)
    assert after == same
    assert float(rule.weights(trusted, memory)[0][1]) > 0.3 > 1e-6 > float(w[1])


def test_trusted_losses_are_not_fitted_and_one_kind_of_loss_is_left_alone():
    rule = _Keeping(200, 0)
    start = {**rule.initial_state(), "dropped": [False, True]}
    _, after = rule.weights(batch([1.0, 9.0], (1,)), start)
    assert after["losses"] == [1.0]
    # closer together than the least deviation of a fit
    alike = {**MEMORY, "losses": [1.0] * 40, "dropped": [False, True]}
    w, after = rule.weights(batch([1.0, 1.0005]), alike)
    assert w.tolist() == [0.5, 0.5]
    assert after["waiting"] == [[None, None]]
    warming = _Keeping(200, 5)
    w, after = warming.weights(batch([1.0, 3.0], step=4), {**MEMORY, "dropped": [False, True]})
    assert w.tolist() == [0.5, 0.5]
    w, after = warming.weights(batch([1.0, 3.0], step=5), {**MEMORY, "dropped": [False, True]})
    assert w[0] > 0.99


def test_remembered_influences_are_the_gradient_of_the_targets_cost_over_its_deviation():
    problem = start_of(regression(1, 8, bad=4, seed=2), "momentum")  # one step: no curvature needed
    kinds = tp.Kinds(warmup=0)
    muted = Muted(tasks=frozenset({(0, 2)}))
    inputs = (problem.objective, problem.params, problem.state, problem.window)
    first = kinds.plan(*inputs, targets=problem.targets, muted=muted)
    before = {**first.weighter_state["rule"], "losses": [0.1, 0.11, 0.09, 1.5, 1.6, 1.4] * 20}
    state = {"step": 1, "rule": {**before, "seen": [], "dropped": [False, True]}}
    text = json.dumps(state)
    plan = kinds.plan(*inputs, targets=problem.targets, muted=muted, state=state)
    assert json.dumps(state) == text, "the state passed in is not changed"
    assert plan.status is tp.Status.RULE
    assert plan.spread > 0.1
    assert plan.weights[0, 2] == 0
    _, gradient = problem.value_and_gradient(plan.weights.numpy().reshape(-1), 0.0)
    expected = -np.delete(gradient, 2)
    seen = plan.weighter_state["rule"]["seen"]
    np.testing.assert_allclose([s for s, _ in seen], expected / expected.std(), rtol=1e-8)
    assert all(0 <= p <= 1 for _, p in seen)
    assert plan.cost == plan.nominal_cost == pytest.approx(problem.value(plan.weights, 0.0))
    assert plan.evaluations == 1 + 2 / 8


def test_a_kind_that_harms_the_targets_is_dropped_and_the_others_stay_equal():
    kinds = tp.Kinds(warmup=5)
    start = _about_one_teacher(0)
    params, optimizer, state = start.params, start.state, None
    for n in range(12):
        fresh = _about_one_teacher(n)
        plan = kinds.plan(
            start.objective, params, optimizer, fresh.window, targets=fresh.targets, state=state
        )
        params, optimizer, state = plan.params, plan.optimizer_state, plan.weighter_state
    assert state is not None
    assert state["rule"]["dropped"] == [False, True]
    right, wrong = plan.weights[:, :5], plan.weights[:, 5:]
    assert float(wrong.mean()) < 0.3 * float(right.mean())
    assert float(right.std() / right.mean()) < 0.5


def test_where_the_targets_are_of_the_harder_kind_it_is_kept():
    kinds = tp.Kinds(warmup=5)
    start = _about_one_teacher(0)
    params, optimizer, state = start.params, start.state, None
    for n in range(12):
        fresh = _about_one_teacher(n)
        hard = [batch[5:7] for batch in _about_one_teacher(n + 100).window]
        plan = kinds.plan(
            start.objective, params, optimizer, fresh.window, targets=hard, state=state
        )
        params, optimizer, state = plan.params, plan.optimizer_state, plan.weighter_state
    assert state is not None
    assert not state["rule"]["dropped"][1]


def _about_one_teacher(n: int) -> Problem:
    """Five tasks of one linear teacher in each mini-batch, and three of the opposite one."""
    generator = torch.Generator().manual_seed(1000 + n)

    def task(wrong: bool) -> tuple[Tensor, Tensor]:
        x = torch.randn(8, 2, dtype=F64, generator=generator)
        y = x @ torch.tensor([[1.0], [-0.5]], dtype=F64)
        y = y + 0.1 * torch.randn(8, 1, dtype=F64, generator=generator)
        return x, (-y if wrong else y)

    base = regression(5, 8, seed=0)
    window = [[task(i >= 5) for i in range(8)] for _ in range(5)]
    targets = [[task(False), task(False)] for _ in range(5)]
    small = {name: 0.3 * p for name, p in base.params.items()}
    return replace(
        base, params=small, window=window, targets=targets, options={"lr": 0.05, "momentum": 0.5}
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"window": 1}, "window=1; expected a whole number of at least 2"),
        ({"memory": 0}, "memory=0"),
        ({"drop": -1.0}, "drop=-1.0"),
        ({"restore": math.nan}, "restore=nan"),
    ],
)
def test_options_out_of_range_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        tp.Kinds(**options)
