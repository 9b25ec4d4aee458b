"""Each option of a plan against a computation of its own, written out here."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.optimize import minimize
from torch import Tensor

import towpath as tp
from tests.curvature.tasks import plain
from tests.curvature.test_gauss_newton import diagonals
from tests.oracles.low_rank import low_rank_sweep
from tests.oracles.training import random_tasks
from tests.weighters.problems import F64, Problem, linear, quadratic, regression, start_of
from towpath.control import Model, Prior, StageModel, TerminalCost
from towpath.control.bounds import Project
from towpath.control.descent import Direction, constrained, feedback
from towpath.control.sweep import SWEEPS
from towpath.weighters.start import Start
from towpath.weighters.tow.part import WholeView
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.setting import Modelling, Setting

# normalise="softmax"


@pytest.mark.parametrize("optimiser", ["nesterov", "adamw"])
@pytest.mark.parametrize("targets", [True, False])
def test_softmax_plans_reach_what_scipy_finds_over_the_logits(optimiser, targets):
    problem = start_of(regression(3, 3, seed=1, samples=4), optimiser, warm=2, groups=True)
    problem = problem if targets else problem.without_targets()
    beta = 0.02
    best = minimize(
        lambda flat: problem.value_and_gradient(flat, beta, softmax=True),
        np.full(9, 1 / 3),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-9},
    )
    tow = tp.TOW(
        beta=beta,
        normalise="softmax",
        bounds="none",
        adjoint="exact",
        curvature="gauss-newton-exact",
        iterations=60,
    )
    plan = problem.plan(tow)
    assert plan.nominal_cost > best.fun * (1 + 1e-3)
    assert plan.cost == pytest.approx(best.fun, rel=1e-6)
    logits = torch.from_numpy(best.x.reshape(3, 3))
    torch.testing.assert_close(plan.weights, logits.softmax(-1), rtol=0, atol=1e-3)


# terminal="replay"


@pytest.mark.parametrize("beta", [0.5, 5.0])
def test_replay_counts_the_last_mini_batch_after_its_step(beta):
    centres = [[(1.0, 0.0), (0.0, 2.0)], [(2.0, 1.0), (-1.0, 0.5)]]
    problem = quadratic(centres, start=(0.5, -0.5), lr=0.2)
    plan = problem.plan(tp.TOW(beta=beta, terminal="replay", iterations=30))

    def by_hand(u: Tensor) -> Tensor:
        x, J = torch.tensor([0.5, -0.5], dtype=F64), torch.zeros((), dtype=F64)
        for t, batch in enumerate(torch.tensor(centres, dtype=F64)):
            losses = (x - batch).square().mean(1)
            J = J + losses.sum() + beta / 2 * (u[t] - 0.5).square().sum()
            x = x - 0.2 * (u[t] @ (x - batch))  # the gradient of a mean of two squares
        return J + (x - batch).square().mean(1).sum()

    assert plan.cost == pytest.approx(float(by_hand(plan.weights)), rel=1e-12)
    best = minimize(
        lambda flat: float(by_hand(torch.from_numpy(flat.reshape(2, 2)))),
        np.full(4, 0.5),
        method="L-BFGS-B",
        bounds=[(0.0, None)] * 4,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    assert plan.cost == pytest.approx(best.fun, rel=1e-6)


# scale="mini-batch"


@pytest.mark.parametrize("optimiser", ["momentum", "adam"])
def test_one_beta_a_mini_batch_is_the_largest_gradient_of_each_over_the_spread(optimiser):
    T, M, spread = 3, 4, 0.5
    problem = start_of(regression(T, M, seed=3, samples=4), optimiser)
    u = torch.full((T, M), 1 / M, dtype=F64, requires_grad=True)
    (g0,) = torch.autograd.grad(problem.cost(u, 0.0), u)  # the state cost's, by autograd
    g0 = g0 - g0.mean(1, keepdim=True)
    betas = M * g0.abs().amax(1) / spread
    assert float(betas.max() / betas.min()) > 1.5, "equal betas would prove little"
    tow = tp.TOW(
        beta="auto",
        scale="mini-batch",
        bounds="simplex",
        adjoint="exact",
        shrink="none",
        spread=spread,
        curvature="none",
        iterations=1,
    )
    plan = problem.plan(tow)
    assert plan.beta == pytest.approx(float(betas.max()), rel=1e-8)
    assert plan.history[0].eps == 1.0
    # without curvature the model's best weights are 1/M - g0 / beta_t
    torch.testing.assert_close(plan.weights, 1 / M - g0 / betas[:, None], rtol=0, atol=1e-8)
    prior = 0.5 * float((betas[:, None] * (plan.weights - 1 / M) ** 2).sum())
    assert plan.cost == pytest.approx(problem.value(plan.weights, 0.0) + prior, rel=1e-10)


def test_a_mini_batch_without_influence_does_not_move_on_rounding():
    problem = regression(3, 4, seed=3).without_targets()
    plan = problem.plan(tp.TOW(beta="auto", scale="mini-batch", bounds="simplex"))
    assert torch.equal(plan.weights[-1], torch.full((4,), 0.25, dtype=F64))
    assert float((plan.weights[0] - 0.25).abs().max()) > 1e-3


# nominal="random"


def test_random_nominals_are_draws_of_a_flat_dirichlet():
    M = 3
    task = (torch.zeros(1, 1, dtype=F64), torch.zeros(1, dtype=F64))
    params = {"w": torch.zeros(1, dtype=F64)}
    objective = tp.Objective.from_function(linear, loss="mse")
    plan = tp.TOW(nominal="random", iterations=0).plan(
        objective, params, tp.SGD(lr=0.1).init(params), [[task] * M] * 400, seed=5
    )
    w = plan.weights.numpy()
    np.testing.assert_allclose(w.sum(1), 1.0)
    for i in range(M):  # the marginals of Dirichlet(1, ..., 1) are Beta(1, M - 1)
        assert stats.kstest(w[:, i], stats.beta(1, M - 1).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(w[:-1, 0], w[1:, 0])[0, 1]) < 0.2, "a new draw each mini-batch"


@pytest.mark.parametrize("bounds", ["project", "simplex", "backtrack"])
def test_from_any_random_nominal_the_plan_is_no_worse(bounds):
    problem = regression(3, 4, seed=2, samples=3)
    for seed in range(4):
        tow = tp.TOW(nominal="random", beta=0.2, bounds=bounds)
        start = problem.plan(replace(tow, iterations=0), seed=seed)
        plan = problem.plan(tow, seed=seed)
        by_hand = problem.value(start.weights, 0.2)
        assert plan.nominal_cost == pytest.approx(by_hand, rel=1e-10)
        assert plan.cost <= plan.nominal_cost


# curvature="hutchinson" and probes


def test_hutchinson_keeps_its_sign_in_the_dynamics_and_not_in_the_cost():
    def fn(params: dict[str, Tensor], task: Tensor) -> tuple[Tensor, Tensor]:
        return torch.cos(task * params["w"]), torch.zeros_like(params["w"])

    w, lr = torch.tensor([0.2, 1.2], dtype=F64), 0.1
    tasks = [torch.tensor(a, dtype=F64) for a in (0.8, 1.1)]
    problem = Problem(fn, "mse", {"w": w}, [tasks, tasks], None, "sgd", {"lr": lr})
    window = WindowProblem(
        Setting(
            problem.objective,
            Start.of(problem.params, problem.state),
            WholeView(problem.window),
            modelling=Modelling("hutchinson"),
        )
    )
    u = torch.tensor([[0.5, 0.5], [0.2, 0.7]], dtype=F64)
    trajectory = window.rollout(lambda t, z: u[t], derivatives=True)
    stage = window.model(trajectory).stages[1]
    x = trajectory.states[1][0]
    # d2/dx2 of mean cos(a x)^2 over two coordinates: -a^2 cos(2 a x), a diagonal Hessian
    h = torch.stack([-(a**2) * torch.cos(2 * a * x) for a in tasks])
    assert float(h.min()) < 0 < float(h.max())
    torch.testing.assert_close(stage.A[0, 0], 1 - lr * (u[1] @ h), rtol=1e-12, atol=0)
    torch.testing.assert_close(stage.C_xx, h.sum(0).clamp_min(0), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kind", ["gauss-newton", "hutchinson"])
def test_several_probes_are_the_mean_of_single_ones(kind):
    ((task,),) = random_tasks(0, 1, loss="cross_entropy")
    many = diagonals(plain, "cross_entropy", [task], kind, seed=4, probes=3)
    single = [
        diagonals(plain, "cross_entropy", [task], kind, seed=4 + probe, probes=1)
        for probe in range(3)
    ]
    torch.testing.assert_close(many, torch.stack(single).mean(0), rtol=1e-12, atol=1e-15)


def test_probes_are_counted():
    problem = regression(3, 4, seed=1, lr=1e-2).without_targets()
    one, three = (problem.plan(tp.TOW(beta=1.0, probes=n)).sketches for n in (1, 3))
    assert three == 3 * one > 0


# adjoint="exact"


def test_hessian_products_of_the_exact_adjoint_are_counted():
    T, M = 4, 3
    problem = regression(T, M, seed=1, lr=1e-2).without_targets()
    products = 0

    class Counted(tp.Objective):
        def product(self, params: Any, tasks: Any, *arguments: Any, **options: Any) -> Tensor:
            nonlocal products
            products += len(tasks)
            return super().product(params, tasks, *arguments, **options)

    objective = Counted.from_function(problem.fn, loss="mse")
    tow = tp.TOW(beta=1.0, adjoint="exact")
    plan = tow.plan(objective, problem.params, problem.state, problem.window)
    assert len(plan.history) == 2
    # one a stage and iteration; stage 1 needs none
    assert plan.products == products / M == 2 * (T - 1)
    assert "Hessian products" in str(plan)
    assert problem.plan(tp.TOW(beta=1.0)).products == 0


# rho I where the model is indefinite


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
    direction = constrained(crafted(curvature), u, Prior(beta, 0.5), Project())
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
    states = [torch.zeros(1, 1, dtype=F64)] * 2
    direction = feedback(crafted(C), u, states, Prior(beta, 0.5), value)
    assert isinstance(direction, Direction)
    # by hand, the last stage first: Q_uu = beta I + C j j', q_u = -j, Q_xu = -C j
    j = np.array([1.0, 0.5])
    Q = beta * np.eye(2) + C * np.outer(j, j)
    k = np.linalg.solve(Q, j)
    V, v = C - C * C * j @ np.linalg.solve(Q, j), 1.0 - C * j @ k
    Q = beta * np.eye(2) + V * np.outer(j, j)
    first = np.linalg.solve(Q + first_shift(Q) * np.eye(2), v * j)
    np.testing.assert_allclose(direction.policy(1.0)(1, states[1]), 0.5 + k, rtol=1e-9)
    np.testing.assert_allclose(direction.policy(1.0)(0, states[0]), 0.5 + first, rtol=1e-9)
    assert direction.theta < 0


# bounds="backtrack"


@pytest.mark.parametrize("optimiser", ["sgd", "dampened", "adam"])
def test_the_exact_value_gives_the_same_plan_as_a_low_rank_sweep(optimiser, monkeypatch):
    """Plans follow the condensed problem; the sweep over V = W - L L' is the same policy."""
    problem = start_of(regression(4, 3, seed=3, samples=4), optimiser, warm=2, groups=True)
    tow = tp.TOW(beta=0.5, bounds="backtrack", value="exact", adjoint="exact")
    condensed = problem.plan(tow)
    monkeypatch.setitem(SWEEPS, "exact", low_rank_sweep)
    low_rank = problem.plan(tow)
    torch.testing.assert_close(condensed.weights, low_rank.weights, rtol=1e-9, atol=1e-11)
    diagonal = problem.plan(replace(tow, value="diagonal"))
    assert float((diagonal.weights - condensed.weights).abs().max()) > 1e-9
