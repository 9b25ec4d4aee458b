"""Each option of a plan against a computation of its own, written out here."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

import towpath as tp
from tests.curvature.tasks import plain
from tests.curvature.test_gauss_newton import diagonals
from tests.oracles.low_rank import low_rank_sweep
from tests.oracles.training import random_tasks
from tests.weighters.problems import F64, Problem, quadratic, regression, start_of
from towpath.control import EVERYTHING
from towpath.control.sweep import SWEEPS
from towpath.recipes.component import Component
from towpath.recipes.components import weighter_options
from towpath.recipes.typed import RecipeError
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
        acceptance="strict",
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
    plan = problem.plan(tp.TOW(beta=beta, terminal="replay", iterations=30, acceptance="strict"))

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
    model = window.model(trajectory)
    stage, x = model.stages[1].part(EVERYTHING), model.states[1][0]
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
    tow = tp.TOW(beta=1.0, adjoint="exact", acceptance="strict")
    plan = tow.plan(objective, problem.params, problem.state, problem.window)
    assert len(plan.history) == 2
    # one a stage and iteration; stage 1 needs none
    assert plan.products == products / M == 2 * (T - 1)
    assert "Hessian products" in str(plan)
    assert problem.plan(tp.TOW(beta=1.0)).products == 0


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


# objects in place of words


@pytest.mark.parametrize(
    "option",
    [
        {"bounds": "towpath.control.bounds.Simplex"},
        {"bounds": {"class_path": "towpath.control.bounds.Simplex"}},
        {"cost": "towpath.weighters.tow.cost.OwnTasks"},
        {"cost": {"class_path": "towpath.weighters.tow.cost.OwnTasks"}},
    ],
)
def test_a_recipe_names_bounds_by_a_word_and_never_a_class(option):
    with pytest.raises(RecipeError):
        weighter_options(Component("tow", option))
    assert weighter_options(Component("tow", {"bounds": "simplex"}))["bounds"] == "simplex"
    assert "cost" not in weighter_options(Component("tow"))


def test_feedback_of_the_exact_value_takes_each_hessian_product_once():
    problem = regression(4, 3, seed=1, lr=1e-2).without_targets()
    tow = tp.TOW(beta=1.0, bounds="backtrack", value="exact", adjoint="exact", iterations=1)
    assert problem.plan(tow).products == 3  # one for each stage after the first


def test_a_given_beta_takes_no_hessian_product_for_the_agreement_of_the_targets():
    problem = regression(4, 3, seed=1, lr=1e-2)
    given = tp.TOW(beta=1.0, adjoint="exact", iterations=1)
    plan = problem.plan(given)
    assert plan.agreement is not None
    assert plan.products == 3  # the direction's, one for each stage after the first
