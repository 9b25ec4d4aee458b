"""Rules that look at targets, with groups, clusters or a network, against plain computations of
the published rules over steps of training."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import towpath as tp
from tests.weighters.test_groups import NumpyAdam, project
from tests.weighters.test_targets import OBJECTIVE, Params, flat_gradient, loss, task
from towpath.weighters.rules.clusters import clustered, nearest
from towpath.weighters.rules.minibatch import Looks

M, N, T = 6, 2, 6
RULE = tp.SGD(lr=0.05, momentum=0.9, dampening=0.2)


class Tagged(tuple[torch.Tensor, torch.Tensor]):
    """A task of `test_targets` that says something of itself."""

    info: dict[str, Any]


def tagged(seed: int, **info: Any) -> Tagged:
    made = Tagged(task(seed))
    made.info = info
    return made


DRAWS = np.random.default_rng(2)
GROUPS = [list(DRAWS.choice(["a", "b", "c"], M)) for _ in range(T)]
WINDOW = [[tagged(10 * t + i, group=GROUPS[t][i]) for i in range(M)] for t in range(T)]
TARGETS = [[task(900 + 10 * t + j) for j in range(N)] for t in range(T)]


class Step:
    """One mini-batch of a training: what the rule decided, and what can be known of it."""

    def __init__(self, t: int, params: Params, optimizer: Any, w: np.ndarray) -> None:
        self.t, self.params, self.w = t, params, w
        self.x = torch.cat([p.reshape(-1) for p in params.values()]).numpy()
        self.buffer = optimizer.slots[0].numpy()
        self.J = np.stack([flat_gradient(params, [one]).numpy() for one in WINDOW[t]])

    def named(self, x: np.ndarray) -> Params:
        a, b = torch.tensor(x[:12]).reshape(3, 4), torch.tensor(x[12:])
        return {"a": a, "b": b}

    def v(self, x: np.ndarray) -> np.ndarray:
        """The gradient of the targets' summed loss."""
        return flat_gradient(self.named(x), TARGETS[self.t]).numpy()

    def virtual(self, u: np.ndarray) -> np.ndarray:
        """x after a step of plain SGD."""
        return self.x - RULE.lr * self.J.T @ u

    def after(self, u: np.ndarray) -> np.ndarray:
        """x after the optimiser's own step; torch's first one has no dampening."""
        d = RULE.dampening if self.t else 0.0
        buffer = RULE.momentum * self.buffer + (1 - d) * self.J.T @ u
        return self.x - RULE.lr * buffer

    def s(self, u: np.ndarray | None) -> np.ndarray:
        d = RULE.dampening if self.t else 0.0
        x = self.x if u is None else self.after(u)
        return RULE.lr * (1 - d) * self.J @ self.v(x)


def trained(rule: tp.MiniBatchWeighter, window: Any = WINDOW) -> list[Step]:
    generator = torch.Generator().manual_seed(1)
    params = {
        "a": torch.randn(3, 4, generator=generator, dtype=torch.float64),
        "b": torch.randn(4, generator=generator, dtype=torch.float64),
    }
    optimizer, state, steps = RULE.init(params), None, []
    for t, (batch, targets) in enumerate(zip(window, TARGETS, strict=True)):
        plan = rule.plan(OBJECTIVE, params, optimizer, [batch], targets=[targets], state=state)
        steps.append(Step(t, params, optimizer, plan.weights[0].numpy()))
        params, optimizer = plan.params, plan.optimizer_state
        state = json.loads(json.dumps(plan.weighter_state))
    assert max(np.ptp(step.w) for step in steps) > 1e-6, "weights that never move prove little"
    return steps


def by_group(t: int, values: np.ndarray) -> dict[str, np.ndarray]:
    return {
        g: np.array([v for v, h in zip(values, GROUPS[t], strict=True) if h == g])
        for g in GROUPS[t]
    }


def test_mwl_maml_projects_three_looks_ahead():
    moved = 0
    for step in trained(tp.MWLMAML()):
        w = np.full(M, 1 / M)
        for _ in range(3):
            s = step.s(w)
            w = project(w + s / (M * np.abs(s).max()))
        np.testing.assert_allclose(step.w, w, rtol=0, atol=1e-6)
        moved += (w == 0).sum()
    assert moved, "the projection must have cut something off"


@pytest.mark.parametrize("differences", [False, True])
def test_auto_lambda_trains_a_weight_a_group_through_the_look_ahead(differences):
    rate = 0.02
    lam: dict[str, float] = {}
    adam = NumpyAdam(rate)
    for step in trained(tp.AutoLambda(rate=rate, differences=differences)):
        t = step.t
        lam = {**dict.fromkeys(GROUPS[t], 0.1), **lam}
        u = np.array([lam[g] for g in GROUPS[t]])
        if differences:
            v = step.v(step.after(u))
            eps = 0.01 / np.linalg.norm(v)
            up, down = (
                [float(loss(step.named(step.x + sign * eps * v), [one])) for one in WINDOW[t]]
                for sign in (1, -1)
            )
            s = RULE.lr * (np.array(up) - np.array(down)) / (2 * eps)
        else:
            s = step.s(u)
        for g, own in by_group(t, s).items():
            lam[g] = max(0.0, adam.step(g, lam[g], -own.sum()))
        np.testing.assert_allclose(step.w, [lam[g] for g in GROUPS[t]], rtol=0, atol=1e-6)
    assert tp.AutoLambda() == tp.AutoLambda(rate=1e-4, start=0.1)


def test_doge_raises_the_groups_that_help():
    log: dict[str, float] = {}
    for step in trained(tp.DoGE()):
        mean = {g: own.mean() for g, own in by_group(step.t, step.s(None)).items()}
        largest = max(abs(value) for value in mean.values())
        for g, value in mean.items():
            log[g] = log.get(g, 0.0) + 0.5 * value / largest
        e = {g: np.exp(log[g]) for g in mean}
        q = {g: 0.9 * e[g] / sum(e.values()) + 0.1 / len(e) for g in mean}
        expected = [q[g] / GROUPS[step.t].count(g) for g in GROUPS[step.t]]
        np.testing.assert_allclose(step.w, expected, rtol=0, atol=1e-6)
        assert step.w.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("scale_free", [False, True])
def test_nested_moves_the_weight_of_each_kind(scale_free):
    w: dict[str, float] = {}
    clipped = False
    for step in trained(tp.Nested(rate=0.1, scale_free=scale_free)):
        groups = GROUPS[step.t]
        start = 1 / M if scale_free else 1 / 200
        w = {**dict.fromkeys(groups, start), **w}
        v = step.v(step.virtual(np.array([w[g] for g in groups]) / M))
        inner = {g: own.sum() for g, own in by_group(step.t, step.J @ v).items()}
        for g, value in inner.items():
            scaled = value / max(map(abs, inner.values())) if scale_free else RULE.lr * value / N
            clipped |= abs(scaled) > 0.5
            w[g] = max(0.0, w[g] + 0.1 * np.clip(scaled, -0.5, 0.5))
        np.testing.assert_allclose(step.w, [w[g] / M for g in groups], rtol=0, atol=1e-6)
    assert clipped == scale_free, "one form meets the bound here, the other does not"


def lloyd(x: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """k-means by the definition."""
    while True:
        member = np.array([((centres - row) ** 2).sum(1).argmin() for row in x])
        new = np.array(
            [x[member == k].mean(0) if (member == k).any() else c for k, c in enumerate(centres)]
        )
        if np.array_equal(new, centres):
            return centres, member
        centres = new


def test_clusters_are_those_of_k_means_on_the_tasks_classes():
    draws = np.random.default_rng(0)
    tasks = [[f"c{k}" for k in draws.choice(9, 3, replace=False)] for _ in range(40)]
    centres = clustered(tasks, 4, seed=3)
    names = sorted({name for one in tasks for name in one})
    x = np.array([[float(name in one) for name in names] for one in tasks])
    first = np.sort(np.random.default_rng(3).choice(40, size=4, replace=False))
    expected, member = lloyd(x, x[first])
    found = np.array([[c["shares"].get(name, 0.0) for name in names] for c in centres])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert [nearest(centres, one) for one in tasks] == member.tolist()


def test_nested_clusters_tasks_without_groups_once_it_has_seen_enough():
    draws = np.random.default_rng(4)
    window = [
        [
            tagged(10 * t + i, classes=draws.choice(list("pqrstu"), 2, replace=False))
            for i in range(M)
        ]
        for t in range(T)
    ]
    rule = tp.Nested(rate=0.1, clusters=3, first=3 * M)
    steps = trained(rule, window)
    for step in steps[:3]:  # its tasks are still being collected
        np.testing.assert_allclose(step.w, 1 / 3 / M)
    centres = clustered(
        [sorted(one.info["classes"]) for batch in window[:3] for one in batch], 3, 0
    )
    w = dict.fromkeys(range(3), 1 / 3)
    for step in steps[3:]:
        kinds = [nearest(centres, one.info["classes"]) for one in window[step.t]]
        J = np.stack([flat_gradient(step.params, [one]).numpy() for one in window[step.t]])
        x = step.x - RULE.lr * J.T @ np.array([w[k] / M for k in kinds])
        inner = J @ step.v(x)
        for k in set(kinds):
            total = sum(value for value, kind in zip(inner, kinds, strict=True) if kind == k)
            w[k] = max(0.0, w[k] + 0.1 * np.clip(RULE.lr * total / N, -0.5, 0.5))
        np.testing.assert_allclose(step.w, [w[k] / M for k in kinds], rtol=0, atol=1e-6)


@pytest.mark.parametrize("normalise", [False, True])
def test_meta_weight_net_trains_its_network_through_virtual_sgd(normalise):
    rule = tp.MetaWeightNet(normalise=normalise, seed=3)
    theta = np.array(rule.initial_state()["theta"]["values"])
    assert len(theta) == 301
    adam = NumpyAdam(1e-3, weight_decay=1e-4)

    def weigh(theta: np.ndarray, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """u, and du/dTheta [M, 301], by hand."""
        a, b, c, d = theta[:100], theta[100:200], theta[200:300], theta[300]
        z = losses[:, None] * a + b
        h, on = np.maximum(z, 0), (z > 0).astype(float)
        q = 1 / (1 + np.exp(-(h @ c + d)))
        out = np.concatenate([losses[:, None] * on * c, on * c, h, np.ones((M, 1))], 1)
        dq = (q * (1 - q))[:, None] * out
        if not normalise:
            return q / M, dq / M
        return q / q.sum(), dq / q.sum() - np.outer(q, dq.sum(0)) / q.sum() ** 2

    for step in trained(rule):
        losses = np.array([float(loss(step.params, [one])) for one in WINDOW[step.t]])
        u, slopes = weigh(theta, losses)
        v = step.v(step.virtual(u))
        gradient = -RULE.lr * (step.J @ v) @ slopes
        theta = np.array([adam.step(k, theta[k], gradient[k]) for k in range(301)])
        np.testing.assert_allclose(step.w, weigh(theta, losses)[0], rtol=0, atol=1e-6)


def test_meta_weight_nets_start_is_that_of_torchs_linear_layers():
    theta = np.array(tp.MetaWeightNet().initial_state()["theta"]["values"])
    assert np.abs(theta[:200]).max() <= 1 < 1.05 * np.abs(theta[:200]).max()
    assert np.abs(theta[200:]).max() <= 0.1 < 1.05 * np.abs(theta[200:]).max()


def test_alpha_maml_matches_the_targets_features():
    features = [DRAWS.normal(i % 3, 1.0, (4 + i % 2, 3)) for i in range(M)]
    goals = [DRAWS.normal(1.0, 1.0, (5, 3)) for _ in range(N)]

    class Known:
        def __len__(self) -> int:
            return N

        def features(self) -> list[torch.Tensor]:
            return [torch.tensor(f) for f in goals]

    ones = torch.ones(M, dtype=torch.float64)
    batch: Any = tp.MiniBatch(
        ones,
        ones[:, None],
        looks=Looks(features=lambda: [torch.tensor(f) for f in features]),
        targets=Known(),
    )
    alpha = tp.AlphaMAML().weights(batch, {})[0].numpy()

    points = np.concatenate([*features, *goals])
    n = len(points)
    pairs = [((points[i] - points[j]) ** 2).sum() for i in range(n) for j in range(i)]
    h2 = np.median(pairs)

    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.mean([np.exp(-((p - q) ** 2).sum() / (2 * h2)) for p in a for q in b]))

    K = np.array([[kernel(a, b) for b in features] for a in features])
    k = np.array([np.mean([kernel(a, b) for b in goals]) for a in features])
    # projected gradient: slow and plain
    w = np.full(M, 1 / M)
    for _ in range(20000):
        w = project(w - 0.1 * (2 * K @ w - 2 * k + 2 * 0.1 * w))
    np.testing.assert_allclose(alpha, w, rtol=0, atol=1e-6)
    assert np.ptp(alpha) > 0.05


def test_alpha_maml_looks_at_the_learners_embedding():
    from tests.learners.tasks import classification

    torch.manual_seed(0)
    learner = tp.learners.ProtoNet(nn.Linear(4, 3, dtype=torch.float64))
    window = [[classification((1, 1), seed=i) for i in range(4)]]
    goals = [[classification((1, 1), seed=90 + i) for i in range(2)]]
    optimizer = torch.optim.SGD(learner.module.parameters(), lr=0.1)
    plan = tp.AlphaMAML().plan(
        tp.Objective(learner), learner.module, optimizer, window, targets=goals
    )
    assert plan.weights[0].sum() == pytest.approx(1.0)
    assert plan.evaluations == pytest.approx(1 + (1 + 2 / 4) / 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tp.MWLMAML(rounds=-1),
        lambda: tp.AutoLambda(start=-0.1),
        lambda: tp.DoGE(floor=1.5),
        lambda: tp.Nested(clusters=20, first=10),
        lambda: tp.MetaWeightNet(rate=-1.0),
        lambda: tp.AlphaMAML(ridge=-1.0),
    ],
)
def test_options_out_of_range_are_value_errors(make):
    with pytest.raises(ValueError, match="expected"):
        make()
