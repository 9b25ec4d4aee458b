"""Directions from models that were written out by hand: rho I where one is indefinite."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from towpath.control import ActionPrior, Model, StageModel, TerminalCost
from towpath.control.bounds import Project
from towpath.control.descent import Direction, constrained, feedback

F64 = torch.float64


def crafted(curvature: float) -> Model:
    """Two stages of plain SGD in one coordinate; the final cost is concave if curvature < 0."""
    one, zero = torch.ones(1, dtype=F64), torch.zeros(1, dtype=F64)
    stage = StageModel(
        A=one[None, None],
        b=-one[None],
        J=torch.tensor([[1.0], [0.5]], dtype=F64),
        c_x=zero,
        C_xx=zero,
    )
    return Model([stage, stage], TerminalCost(one, curvature * one))


def first_shift(Q: np.ndarray) -> float:
    """The first of 1e-6, 1e-5, ... times the largest diagonal entry that makes Q definite."""
    assert np.linalg.eigvalsh(Q)[0] < 0
    ladder = [1e-6 * np.abs(np.diag(Q)).max() * 10.0**n for n in range(7)]
    return next(r for r in ladder if np.linalg.eigvalsh(Q + r * np.eye(len(Q)))[0] > 0)


@pytest.mark.parametrize("curvature", [-0.401, -0.45])
def test_an_indefinite_model_is_shifted_by_the_first_rho_that_is_enough(curvature):
    beta, u = 1.0, torch.full((2, 2), 0.5, dtype=F64)
    direction = constrained(crafted(curvature), u, ActionPrior(beta, 0.5), Project())
    assert isinstance(direction, Direction)
    # by hand: the state moves by s = -(J'u_1 + J'u_2) and costs s + curvature/2 s^2
    j = np.array([1.0, 0.5, 1.0, 0.5])
    H, g = beta * np.eye(4) + curvature * np.outer(j, j), -j
    rho = first_shift(H)
    w = torch.stack([direction.policy(1.0)(t, u) for t in range(2)]).numpy().reshape(-1)
    np.testing.assert_allclose(w, 0.5 - np.linalg.solve(H + rho * np.eye(4), g), rtol=1e-9)
    assert direction.theta == pytest.approx(float(g @ (w - 0.5)))
    assert direction.theta < 0


@pytest.mark.parametrize("value", ["diagonal", "exact"])
def test_the_feedback_sweep_shifts_the_stage_that_is_indefinite(value):
    beta, C, u = 1.0, -0.41, torch.full((2, 2), 0.5, dtype=F64)
    model = replace(crafted(C), states=[torch.zeros(1, 1, dtype=F64)] * 2)
    direction = feedback(model, u, ActionPrior(beta, 0.5), value)
    assert isinstance(direction, Direction)
    # by hand, the last stage first: Q_uu = beta I + C j j', q_u = -j, Q_xu = -C j
    j = np.array([1.0, 0.5])
    Q = beta * np.eye(2) + C * np.outer(j, j)
    k = np.linalg.solve(Q, j)
    V, v = C - C * C * j @ np.linalg.solve(Q, j), 1.0 - C * j @ k
    Q = beta * np.eye(2) + V * np.outer(j, j)
    first = np.linalg.solve(Q + first_shift(Q) * np.eye(2), v * j)
    np.testing.assert_allclose(direction.policy(1.0)(1, model.states[1]), 0.5 + k, rtol=1e-9)
    np.testing.assert_allclose(direction.policy(1.0)(0, model.states[0]), 0.5 + first, rtol=1e-9)
    assert direction.theta < 0
