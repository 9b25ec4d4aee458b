"""On linear-quadratic problems one iteration is the solution."""

import pytest
import torch
from hypothesis import given, settings

import towpath as tp
from tests.control.test_sweep import betas, problems
from tests.oracles import linear_quadratic as dense
from tests.oracles.compare import assert_close
from towpath.control import ActionPrior, Search, Status, bounds_of, ilqr

seeded = settings(max_examples=40, deadline=None, derandomize=True)


def solve(problem, nominal, prior, bounds, **options):
    return ilqr(
        problem,
        nominal,
        prior,
        bounds=bounds_of(bounds),
        value="exact",
        search=Search(),
        **{"iterations": 1, "tolerance": 0.0, **options},
    )


def set_up(seed, T, M, P, k, terminal, mu):
    true = dense.random_model(seed, T, M, P, k, terminal)
    generator = torch.Generator().manual_seed(seed + 1)
    z = torch.randn(k, P, generator=generator, dtype=torch.float64)
    actions = mu + torch.rand(T, M, generator=generator, dtype=torch.float64)
    problem = dense.LinearQuadratic(true, z)
    nominal = problem.rollout(lambda t, z: actions[t], derivatives=True, allows=lambda u: True)
    return problem, nominal


def optimum(problem, nominal, prior):
    deviations, change = dense.kkt(
        problem.model(nominal), prior.gradient(nominal.actions), prior.beta
    )
    return nominal.actions + deviations, nominal.cost(prior) + change


@seeded
@given(setting=problems, beta=betas)
def test_one_feedback_iteration_equals_the_dense_kkt_solution(setting, beta):
    problem, nominal = set_up(**setting, mu=0.3)
    prior = ActionPrior(beta, 0.3)
    actions, cost = optimum(problem, nominal, prior)
    result = solve(problem, nominal, prior, "none")
    assert result.status is Status.ITERATION_LIMIT
    assert_close(result.trajectory.actions, actions, 1e-9)
    assert result.trajectory.cost(prior) == pytest.approx(cost, rel=1e-9, abs=1e-9)
    (line,) = result.history
    assert line.eps == 1.0
    assert line.trials == 1
    assert line.predicted == pytest.approx(nominal.cost(prior) - cost, rel=1e-9)
    assert line.actual == pytest.approx(line.predicted, rel=1e-6)


@pytest.mark.parametrize("bounds", ["project", "backtrack"])
@seeded
@given(setting=problems, beta=betas)
def test_bounds_that_do_not_bind_change_nothing(bounds, setting, beta):
    problem, nominal = set_up(**setting, mu=0.3)
    actions, _ = optimum(problem, nominal, ActionPrior(beta, 0.3))
    # moving the origin of the actions far from zero moves the solution with it
    shift = 1.0 + 2.0 * float(actions.abs().max())
    problem, nominal = set_up(**setting, mu=0.3 + shift)
    prior = ActionPrior(beta, 0.3 + shift)
    actions, cost = optimum(problem, nominal, prior)
    if float(actions.min()) < 0.0:
        return
    result = solve(problem, nominal, prior, bounds)
    assert_close(result.trajectory.actions, actions, 1e-9)
    assert result.trajectory.cost(prior) == pytest.approx(cost, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("bounds", ["none", "project", "simplex"])
def test_a_second_iteration_finds_nothing_left_to_gain(bounds):
    problem, nominal = set_up(seed=5, T=4, M=3, P=6, k=3, terminal=True, mu=0.0)
    actions = nominal.actions / nominal.actions.sum(1, keepdim=True)
    nominal = problem.rollout(lambda t, z: actions[t], derivatives=True, allows=lambda u: True)
    result = solve(problem, nominal, ActionPrior(1.0, 1 / 3), bounds, tolerance=1e-9, iterations=5)
    assert result.status is Status.CONVERGED
    assert len(result.history) == 1
    if bounds != "none":
        assert (result.trajectory.actions == 0.0).any(), "no bound was active"


@pytest.mark.parametrize("bounds", ["none", "project"])
def test_a_plan_of_one_stage_with_quadratic_targets_is_the_solution(bounds):
    """One SGD step is linear in the weights, and targets with a diagonal Hessian are quadratic."""
    generator = torch.Generator().manual_seed(0)
    P, M, lr, beta = 4, 3, 0.1, 2.0

    def task():
        roots = 1.0 + torch.rand(P, generator=generator, dtype=torch.float64)
        return torch.diag(roots), torch.randn(P, generator=generator, dtype=torch.float64)

    window, targets = [[task() for _ in range(M)]], [[task(), task()]]
    x = torch.randn(P, generator=generator, dtype=torch.float64)

    def gradient(x, task):  # of mean((X x - y)^2)
        X, y = task
        return 2.0 / P * X.T @ (X @ x - y)

    B = -lr * torch.stack([gradient(x, task) for task in window[0]], 1)
    C = sum(2.0 / P * X.T @ X for X, _ in targets[0])
    c = sum(gradient(x, target) for target in targets[0])
    # minimise over u: c'(B u) + 1/2 (B u)' C (B u) + beta/2 |u - mu|^2
    H = B.T @ C @ B + beta * torch.eye(M, dtype=torch.float64)
    u = torch.linalg.solve(H, beta / M - B.T @ c)
    assert float(u.min()) > 0
    objective = tp.Objective.from_function(lambda params, t: (t[0] @ params["x"], t[1]), loss="mse")
    tow = tp.TOW(
        beta=beta,
        iterations=1,
        bounds="backtrack" if bounds == "none" else bounds,
        value="exact",
        curvature="gauss-newton-exact",
    )
    plan = tow.plan(objective, {"x": x}, tp.SGD(lr=lr).init({"x": x}), window, targets=targets)
    assert_close(plan.weights[0], u, 1e-9)
    assert plan.predicted_decrease == pytest.approx(plan.actual_decrease, rel=1e-9)
