"""L2RW and OPUS against plain computations of the published rules, over steps of training."""

import json
from typing import Any

import numpy as np
import pytest
import torch

import towpath as tp
from tests.training.runs import trained_on
from tests.weighters.test_targets import OBJECTIVE, OPTIMISERS, Params, Task, flat_gradient, task

M, N, T = 6, 2, 5
WINDOW = [[task(10 * t + i) for i in range(M)] for t in range(T)]
TARGETS = [[task(900 + 10 * t + j) for j in range(N)] for t in range(T)]


def trained(rule: tp.MiniBatchWeighter, name: str) -> list[tuple[Params, Any, np.ndarray]]:
    """Parameters, optimiser and weights of each mini-batch, planned one at a time."""
    generator = torch.Generator().manual_seed(1)
    params = {
        "a": torch.randn(3, 4, generator=generator, dtype=torch.float64),
        "b": torch.randn(4, generator=generator, dtype=torch.float64),
    }
    optimizer, state, steps = OPTIMISERS[name].init(params), None, []
    for batch, targets in zip(WINDOW, TARGETS, strict=True):
        plan = rule.plan(OBJECTIVE, params, optimizer, [batch], targets=[targets], state=state)
        steps.append((params, optimizer, plan.weights[0].numpy()))
        params, optimizer = plan.params, plan.optimizer_state
        state = json.loads(json.dumps(plan.weighter_state))
    return steps


def inner_products(params: Params, tasks: list[Task], targets: list[Task]) -> np.ndarray:
    v = flat_gradient(params, targets).numpy()
    return np.array([flat_gradient(params, [one]).numpy() @ v for one in tasks])


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_l2rw_follows_inner_products_with_the_targets_gradient(name):
    dropped = 0
    for t, (params, _, w) in enumerate(trained(tp.L2RW(), name)):
        raw = np.maximum(0.0, inner_products(params, WINDOW[t], TARGETS[t]))
        expected = raw / raw.sum() if raw.any() else raw
        np.testing.assert_allclose(w, expected, rtol=0, atol=1e-6)
        dropped += (w == 0).sum()
    assert 0 < dropped < T * M, "some tasks must agree with the targets and some not"


def test_l2rw_weighs_nothing_where_no_task_agrees_and_the_record_counts_it():
    # the loss (x w - y)^2: tasks pull w up, the targets down
    def fn(params, one):
        return one[0] * params["w"], one[1]

    objective = tp.Objective.from_function(fn, loss="mse")
    params = {"w": torch.zeros(1, dtype=torch.float64)}
    one = torch.ones(1, dtype=torch.float64)
    up, down = [(one, one)] * 3, [(one, -one)]
    optimizer = tp.SGD(lr=0.1, momentum=0.9).init(params)
    state, records = trained_on(
        tp.train_step(
            tp.TrainState(params, optimizer),
            [up, up],
            objective=objective,
            weighter=tp.L2RW(),
            targets=[[(one, one)], down],
        )
    )
    assert records[0].plan.weightless == 1
    assert records[0].weights == pytest.approx([1 / 3] * 3)
    assert records[1].weights == [0.0] * 3
    # the momentum of the first step goes on: 0.2, then 0.9 * 0.2 more
    assert float(state.params["w"]) == pytest.approx(0.2 + 0.18)


def opus_scores(params: Params, optimizer: Any, t: int, name: str) -> np.ndarray:
    """s of the mini-batch: the optimiser's formula for b, written out."""
    rows = np.stack([flat_gradient(params, [one]).numpy() for one in WINDOW[t]])
    v, g = flat_gradient(params, TARGETS[t]).numpy(), rows.mean(0)
    rule = OPTIMISERS[name]
    if isinstance(rule, tp.SGD):  # torch's first step has no dampening
        b = np.full(len(v), -rule.lr * (1 - (rule.dampening if t else 0.0)))
    else:
        x = torch.cat([p.reshape(-1) for p in params.values()]).numpy()
        (m, second), (b1, b2) = (slot.numpy() for slot in optimizer.slots), rule.betas

        def step(G: np.ndarray) -> np.ndarray:
            mean = (b1 * m + (1 - b1) * G) / (1 - b1 ** (t + 1))
            root = np.sqrt((b2 * second + (1 - b2) * G**2) / (1 - b2 ** (t + 1)))
            return -rule.lr * mean / (root + rule.eps)

        h, G = 1e-6 * np.abs(g).max(), g + rule.weight_decay * x
        b = (step(G + h) - step(G - h)) / (2 * h)
    return -rows @ (b * v)


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_opus_is_the_softmax_of_the_influence_in_the_optimisers_geometry(name):
    tau = 0.7
    for t, (params, optimizer, w) in enumerate(trained(tp.OPUS(tau=tau), name)):
        if name == "adam" and t == 0:
            continue  # Adam's first step hardly depends on the gradient: differences are rounding
        s = opus_scores(params, optimizer, t, name)
        e = np.exp(s / (tau * s.std()))
        np.testing.assert_allclose(w, e / e.sum(), rtol=0, atol=1e-6)


def test_opus_draws_a_share_of_the_tasks_with_the_chances_of_the_softmax():
    rule = tp.OPUS(sample=0.5)
    for _, _, w in trained(rule, "momentum"):
        assert sorted(w) == pytest.approx([0.0] * 3 + [1 / 3] * 3)

    class Known:
        """Targets whose influence is known."""

        def influence(self):
            return torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)

    zeros = torch.zeros(3, dtype=torch.float64)
    count = 4000
    drawn = np.zeros(3)
    for n in range(count):
        batch = tp.MiniBatch(zeros, zeros[:, None], step=n, targets=Known())
        drawn += tp.OPUS(sample=0.1).weights(batch, {})[0].numpy()  # one of three
    e = np.exp(np.array([0.0, 1.0, 2.0]) / np.std([0.0, 1.0, 2.0]))
    chance = e / e.sum()
    errors = np.sqrt(chance * (1 - chance) / count)
    assert (np.abs(drawn / count - chance) < 5 * errors).all()


@pytest.mark.parametrize(
    "make", [lambda: tp.OPUS(tau=0.0), lambda: tp.OPUS(sample=0.0), lambda: tp.OPUS(sample=1.5)]
)
def test_options_out_of_range_are_value_errors(make):
    with pytest.raises(ValueError, match="expected"):
        make()
