"""Rules that weigh groups by their losses, and the least-norm point, against plain computations of
the published rules over steps of state."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

import towpath as tp

STEPS, M = 12, 6
DRAWS = np.random.default_rng(5)
LOSSES = DRAWS.gamma(3.0, 0.5, (STEPS, M))
# "d" appears late, and no group is there every time
GROUPS = [
    list(DRAWS.choice(["a", "b", "c"] if n < 4 else ["a", "b", "c", "d"], M)) for n in range(STEPS)
]


def walked(rule: tp.MiniBatchWeighter) -> list[np.ndarray]:
    """The weights of one mini-batch after another, the state through JSON each time."""
    state, rows = rule.initial_state(), []
    for n in range(STEPS):
        infos = [{"group": group} for group in GROUPS[n]]
        losses = torch.tensor(LOSSES[n])
        batch = tp.MiniBatch(losses, torch.full((M, 2), torch.nan), infos, step=n)
        w, state = rule.weights(batch, json.loads(json.dumps(state)))
        rows.append(w.numpy())
    assert np.ptp(rows, axis=1).max() > 1e-6, "weights that never move prove little"
    return rows


class NumpyAdam:
    """Adam as in the paper, one number at a time."""

    def __init__(self, lr: float, weight_decay: float = 0.0) -> None:
        self.lr, self.weight_decay = lr, weight_decay
        self.held: dict[Any, tuple[float, float, int]] = {}

    def step(self, name: Any, value: float, gradient: float) -> float:
        m, v, t = self.held.get(name, (0.0, 0.0, 0))
        gradient += self.weight_decay * value
        m, v, t = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2, t + 1
        self.held[name] = m, v, t
        return value - self.lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def project(y: np.ndarray) -> np.ndarray:
    """Onto the simplex, by bisection of the shift."""
    low, high = y.min() - 1, y.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(y - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(y - low, 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_tr_maml_ascends_on_the_simplex_of_groups(weighted):
    rate = 0.05
    p: dict[str, float] = {}
    for n, w in enumerate(walked(tp.TRMAML(rate=rate, weighted=weighted))):
        for group in GROUPS[n]:
            if group not in p:
                p[group] = float(np.mean(list(p.values()))) if p else 1.0
        total = sum(p.values())
        p = {group: value / total for group, value in p.items()}
        expected = np.array([p[g] * len(p) / M for g in GROUPS[n]])
        np.testing.assert_allclose(w, expected, rtol=0, atol=1e-6)
        gain = LOSSES[n] * (expected if weighted else 1.0)
        raised = [
            value + rate * sum(l for l, g in zip(gain, GROUPS[n], strict=True) if g == group)
            for group, value in p.items()
        ]
        p = dict(zip(p, project(np.array(raised)), strict=True))
    assert tp.TRMAML().rate == 2e-5


def group_means(n: int) -> dict[str, float]:
    return {
        group: float(np.mean([l for l, g in zip(LOSSES[n], GROUPS[n], strict=True) if g == group]))
        for group in GROUPS[n]
    }


def test_famo_follows_the_pace_of_the_groups():
    xi: dict[str, float] = {}
    last: dict[str, float] = {}
    adam = NumpyAdam(0.025, weight_decay=0.01)
    for n, w in enumerate(walked(tp.FAMO())):
        now = group_means(n)
        if any(g in last for g in now):
            names = list(xi)
            e = np.exp([xi[g] for g in names])
            z = e / e.sum()
            delta = np.array([np.log(last[g]) - np.log(now[g]) if g in now else 0 for g in names])
            jacobian = np.diag(z) - np.outer(z, z)
            for g, slope in zip(names, jacobian.T @ delta, strict=True):
                xi[g] = adam.step(g, xi[g], slope)
        for g in now:
            xi.setdefault(g, 0.0)
        last |= now
        raw = np.array([np.exp(xi[g]) / l for g, l in zip(GROUPS[n], LOSSES[n], strict=True)])
        np.testing.assert_allclose(w, raw / raw.sum(), rtol=0, atol=1e-6)


def test_dwa_is_the_softmax_of_the_last_two_losses_ratio():
    history: dict[str, list[float]] = {}
    for n, w in enumerate(walked(tp.DWA())):
        now = group_means(n)
        r = {g: h[-1] / h[-2] if len(h := history.get(g, [])) > 1 else 1.0 for g in now}
        total = sum(np.exp(value / 2) for value in r.values())
        expected = [np.exp(r[g] / 2) / total / GROUPS[n].count(g) for g in GROUPS[n]]
        np.testing.assert_allclose(w, expected, rtol=0, atol=1e-6)
        for g, value in now.items():
            history.setdefault(g, []).append(value)


def test_uncertainty_trains_a_log_variance_a_group():
    s: dict[str, float] = {}
    adam = NumpyAdam(1e-3)
    for n, w in enumerate(walked(tp.Uncertainty())):
        now = group_means(n)
        s = {**dict.fromkeys(now, 0.0), **s}
        expected = [np.exp(-s[g]) / M for g in GROUPS[n]]
        np.testing.assert_allclose(w, expected, rtol=0, atol=1e-6)
        for g, loss in now.items():
            s[g] = adam.step(g, s[g], 1 - np.exp(-s[g]) * loss)


@pytest.mark.parametrize("seed", range(5))
def test_mgda_is_the_least_norm_point_of_the_gradients_hull(seed):
    draws = np.random.default_rng(seed)
    J = draws.normal(0.3, 1.0, (5, 8)) * draws.gamma(1.0, 1.0, (5, 1))
    batch = tp.MiniBatch(torch.ones(5, dtype=torch.float64), torch.tensor(J))
    w = tp.MGDA().weights(batch, {})[0].numpy()
    found = minimize(
        lambda u: ((J.T @ u) ** 2).sum(),
        np.full(5, 0.2),
        jac=lambda u: 2 * J @ (J.T @ u),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 5,
        constraints={"type": "eq", "fun": lambda u: u.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 1000},
    ).x
    np.testing.assert_allclose(w, found, rtol=0, atol=1e-6)
    # no task's loss rises along the step, and all that weigh fall alike
    slopes = J @ (J.T @ w)
    assert slopes.min() >= (1 - 1e-6) * ((J.T @ w) ** 2).sum()


def test_mgda_shares_the_weight_of_equal_gradients():
    same = torch.ones(4, 3, dtype=torch.float64)
    for J in (same, 0 * same):
        w = tp.MGDA().weights(tp.MiniBatch(same[:, 0], J), {})[0]
        np.testing.assert_allclose(w, 0.25, atol=1e-9)


def test_a_schedule_turns_to_the_trusted_tasks_after_its_steps():
    infos = [{"trusted": True}, {}, {"trusted": True}, {}]
    losses = torch.ones(4, dtype=torch.float64)
    for rule, turn in ((tp.FineTune(after=3), 3), (tp.TrustedOnly(), 0)):
        for n in range(5):
            w, _ = rule.weights(tp.MiniBatch(losses, losses[:, None], infos, step=n), {})
            assert w.tolist() == ([0.25] * 4 if n < turn else [0.5, 0.0, 0.5, 0.0])
    doubted = [{"trusted": True, "left_out": True}, *infos[1:]]
    for rule in (tp.FineTune(after=0), tp.TrustedOnly()):
        w, _ = rule.weights(tp.MiniBatch(losses, losses[:, None], doubted), {})
        assert w.tolist() == [0.0, 0.0, 1.0, 0.0]
    bare = tp.MiniBatch(losses, losses[:, None])
    assert tp.TrustedOnly().weights(bare, {})[0].tolist() == [0.0] * 4
    with pytest.raises(ValueError, match="after=None; expected the number"):
        tp.FineTune().weights(bare, {})


@pytest.mark.parametrize(
    "make",
    [
        lambda: tp.TRMAML(rate=-1.0),
        lambda: tp.FAMO(weight_decay=-0.1),
        lambda: tp.DWA(temperature=0.0),
        lambda: tp.Uncertainty(rate=float("nan")),
        lambda: tp.FineTune(after=-1),
    ],
)
def test_options_out_of_range_are_value_errors(make):
    with pytest.raises(ValueError, match="expected"):
        make()
