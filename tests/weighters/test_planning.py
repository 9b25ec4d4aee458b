"""Enough iterations reach what scipy finds over all T x M weights at once.

The objective that scipy sees is `Problem.cost`: a rollout in plain torch, differentiated by
autograd. Adam's eps is large in most cases because the problems must be smooth: from cold moments
and with eps = 1e-8 its first step is the sign of the gradient.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, minimize

import towpath as tp
from tests.weighters.problems import Problem, classification, quadratic, regression, start_of

ITERATIONS = 80


def best_nonnegative(problem: Problem, beta: float) -> OptimizeResult:
    T, M = problem.shape
    return minimize(
        lambda flat: problem.value_and_gradient(flat, beta),
        np.full(T * M, 1.0 / M),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * (T * M),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000},
    )


def best_on_simplex(problem: Problem, beta: float) -> OptimizeResult:
    T, M = problem.shape
    sums = np.kron(np.eye(T), np.ones((1, M)))
    return minimize(
        lambda flat: problem.value_and_gradient(flat, beta),
        np.full(T * M, 1.0 / M),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, None)] * (T * M),
        constraints=[
            {"type": "eq", "fun": lambda flat: sums @ flat - 1.0, "jac": lambda flat: sums}
        ],
        options={"ftol": 1e-15, "maxiter": 1000},
    )


BEST = {"project": best_nonnegative, "simplex": best_on_simplex}


@dataclass(frozen=True)
class Case:
    make: Callable[..., Problem]
    optimizer: str
    options: dict[str, Any]
    targets: bool
    bounds: str
    seed: int
    beta: float
    slow: bool = False

    @property
    def name(self) -> str:
        kind = "targets" if self.targets else "own"
        return f"{self.make.__name__}-{self.optimizer}-{kind}-{self.bounds}"

    def problem(self) -> Problem:
        problem = self.make(
            3, 3, seed=self.seed, optimizer=self.optimizer, samples=4, **self.options
        )
        return problem if self.targets else problem.without_targets()


SMOOTH_ADAM = {"lr": 0.05, "eps": 0.1}
# Seeds and precisions whose optimum has weights at zero (asserted below). Every optimiser, cost and
# kind of bounds is in the default run once.
CASES = [
    Case(regression, "sgd", {"lr": 0.1}, True, "project", 0, 0.2, slow=True),
    Case(regression, "sgd", {"lr": 0.1}, True, "simplex", 3, 0.2),
    Case(regression, "sgd", {"lr": 0.1}, False, "project", 0, 0.2),
    Case(regression, "sgd", {"lr": 0.1}, False, "simplex", 1, 0.2, slow=True),
    Case(regression, "adam", SMOOTH_ADAM, True, "project", 1, 0.02),
    Case(regression, "adam", SMOOTH_ADAM, True, "simplex", 0, 0.02, slow=True),
    Case(regression, "adam", SMOOTH_ADAM, False, "project", 1, 0.02, slow=True),
    Case(regression, "adam", SMOOTH_ADAM, False, "simplex", 1, 0.02),
    Case(classification, "sgd", {"lr": 0.2}, True, "project", 2, 0.2),
    Case(classification, "sgd", {"lr": 0.2}, True, "simplex", 1, 0.2, slow=True),
    Case(classification, "sgd", {"lr": 0.2}, False, "project", 2, 0.2, slow=True),
    Case(classification, "sgd", {"lr": 0.2}, False, "simplex", 2, 0.2),
    Case(classification, "adam", SMOOTH_ADAM, True, "project", 0, 0.2, slow=True),
    Case(classification, "adam", SMOOTH_ADAM, True, "simplex", 2, 0.2),
    Case(classification, "adam", SMOOTH_ADAM, False, "project", 2, 0.02),
    Case(classification, "adam", SMOOTH_ADAM, False, "simplex", 2, 0.02, slow=True),
]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow] if case.slow else [])
        for case in CASES
    ],
)
def test_exact_adjoint_reaches_the_optimum_and_the_model_98_per_cent_of_it(case):
    check_optimum(case.problem(), case.bounds, case.beta)


def check_optimum(problem: Problem, bounds: str, beta: float) -> None:
    best = BEST[bounds](problem, beta)
    assert (best.x <= 1e-9).any(), "the case must have active bounds"

    options = {
        "beta": beta,
        "bounds": bounds,
        "curvature": "gauss-newton-exact",
        "iterations": ITERATIONS,
        "acceptance": "strict",
        "tolerance": 1e-5,
    }
    exact = problem.plan(tp.TOW(adjoint="exact", **options))
    assert exact.cost <= best.fun + 1e-6 * abs(best.fun)
    assert exact.cost >= best.fun - 1e-6 * abs(best.fun), "scipy's optimum is not one"
    np.testing.assert_allclose(exact.weights.numpy().reshape(-1), best.x, atol=1e-3)
    assert (exact.weights == 0).any()

    model = problem.plan(tp.TOW(adjoint="model", **options))
    possible = model.nominal_cost - best.fun
    assert possible > 1e-3 * abs(best.fun), "the case must have something to gain"
    assert model.actual_decrease >= 0.98 * possible


# (optimiser, problem, warm and in two groups, targets, bounds, seed, beta). The seed is the first
# whose optimum, found by scipy alone, has weights at zero and something to gain.
EVERY_START = [
    ("sgd", regression, False, False, "project", 0, 0.1),
    ("sgd", classification, True, True, "project", 1, 0.1),
    ("sgd decayed", classification, False, False, "simplex", 0, 0.1),
    ("sgd decayed", regression, True, True, "simplex", 0, 0.1),
    ("momentum", regression, False, True, "project", 0, 0.1),
    ("momentum", classification, True, True, "project", 0, 0.1),
    ("dampened", classification, False, True, "simplex", 0, 0.1),
    ("dampened", regression, True, False, "simplex", 0, 0.1),
    ("nesterov", regression, False, False, "simplex", 0, 0.1),
    ("nesterov", classification, True, True, "simplex", 0, 0.1),
    ("adam", regression, True, True, "project", 1, 0.02),
    ("adam decayed", regression, False, True, "simplex", 0, 0.02),
    ("adam decayed", classification, True, True, "simplex", 0, 0.1),
    ("adamw", classification, False, True, "project", 0, 0.1),
    ("adamw", regression, True, False, "project", 1, 0.02),
]
IN_DEFAULT_RUN = {("dampened", True), ("nesterov", False), ("adam decayed", False), ("adamw", True)}


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(
            start,
            id=f"{start[0]}-{'warm, two groups' if start[2] else 'cold'}",
            marks=[] if (start[0], start[2]) in IN_DEFAULT_RUN else [pytest.mark.slow],
        )
        for start in EVERY_START
    ],
)
def test_the_same_holds_for_every_optimiser_cold_and_warm_in_groups(start):
    optimiser, make, warm, targets, bounds, seed, beta = start
    problem = start_of(
        make(3, 3, seed=seed, samples=4), optimiser, warm=3 if warm else 0, groups=warm
    )
    check_optimum(problem if targets else problem.without_targets(), bounds, beta)


@pytest.mark.parametrize("curvature", ["gauss-newton", "hutchinson", "none"])
def test_with_the_exact_adjoint_any_curvature_leads_to_the_optimum(curvature):
    problem = regression(3, 3, seed=0, samples=4, lr=0.1)
    best = best_nonnegative(problem, 0.2)
    tow = tp.TOW(
        beta=0.2, adjoint="exact", curvature=curvature, iterations=200, acceptance="strict"
    )
    assert problem.plan(tow).cost == pytest.approx(best.fun, rel=1e-6)


@pytest.mark.parametrize("bounds", ["project", "simplex"])
@pytest.mark.parametrize("targets", [True, False])
def test_where_the_hessian_is_diagonal_the_default_adjoint_reaches_the_optimum(bounds, targets):
    centres = [[(2.0, 0.3), (-3.0, 1.0), (0.5, -2.0)]] + [[(2.0, 0.0), (1.5, 0.3), (-2.0, 0.0)]] * 3
    goals = [[(1.5, 0.0)], [(1.0, 0.5), (2.0, 0.0)], [], [(1.5, 0.2)]]
    problem = quadratic(centres, goals if targets else None, start=(0.0, 0.5), lr=0.1)
    best = BEST[bounds](problem, 0.02)
    assert (best.x <= 1e-9).any()
    plan = problem.plan(tp.TOW(beta=0.02, bounds=bounds, iterations=200, acceptance="strict"))
    assert plan.cost == pytest.approx(best.fun, rel=1e-6)


def test_cold_adam_with_the_usual_eps_reaches_the_optimum_where_the_prior_keeps_it_near():
    problem = regression(3, 3, seed=1, optimizer="adam", samples=4, lr=0.03)
    best = best_nonnegative(problem, 1.0)
    plan = problem.plan(tp.TOW(beta=1.0, adjoint="exact", iterations=200, acceptance="strict"))
    assert best.fun < plan.nominal_cost * (1 - 1e-3)
    assert plan.cost == pytest.approx(best.fun, rel=1e-6)
