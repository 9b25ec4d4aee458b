"""The weights that planning starts from: equal, random, or those of any weighter.

The planner's oracles (the true cost by a rollout in plain torch, its gradient by autograd, its
optimum by scipy) are asked again about weights that are not equal and partly zero.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.optimize import OptimizeResult, minimize
from torch import Tensor

import towpath as tp
from tests.weighters.problems import (
    F64,
    Problem,
    classification,
    linear,
    regression,
    start_of,
)
from towpath.control import bounds_of, costate_gradient
from towpath.weighters import WEIGHTERS, Muted, Weighter, wants_targets
from towpath.weighters.start import Start
from towpath.weighters.tow.cost import OwnTasks, TargetTasks
from towpath.weighters.tow.nominal import RuleNominal
from towpath.weighters.tow.part import WholeView
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.setting import Modelling, Setting


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


# Plans about a rule


@dataclass(frozen=True)
class Tilted(tp.MiniBatchWeighter):
    """A user's rule with a memory: low losses weigh more, later ones less so; no sum is kept."""

    strength: float = 3.0

    def initial_state(self) -> dict[str, Any]:
        return {"sum": 0.0}

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        chances = (-self.strength / (batch.step + 1) * batch.losses).softmax(0)
        return 0.8 * chances, {"sum": state["sum"] + float(batch.losses.sum())}


@dataclass(frozen=True)
class Equal(tp.MiniBatchWeighter):
    """Equal weights by a rule that the library does not know."""

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        return torch.full_like(batch.losses, 1 / len(batch)), state


@dataclass(frozen=True)
class Nothing(tp.MiniBatchWeighter):
    """A rule that gives no weight at all."""

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        return torch.zeros_like(batch.losses), state


TRIM = tp.weighters.Trim(keep=0.6, warmup=0)


def alone(problem: Problem, weighter: Weighter, **options: Any) -> tp.Plan:
    """The weighter's own plan of the window."""
    goals = problem.targets if wants_targets(weighter) else None
    return weighter.plan(
        problem.objective, problem.params, problem.state, problem.window, targets=goals, **options
    )


@dataclass(frozen=True)
class Normalised(tp.MiniBatchWeighter):
    """Another rule's weights, divided by their sum."""

    rule: tp.MiniBatchWeighter

    @property
    def wants_targets(self) -> bool:  # type: ignore[override]  # as the other rule says
        return self.rule.wants_targets

    def initial_state(self) -> dict[str, Any]:
        return self.rule.initial_state()

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        w, state = self.rule.weights(batch, state)
        return w / w.sum() if float(w.sum()) else torch.full_like(w, 1 / len(w)), state


def nominal_weights(problem: Problem, weighter: Weighter, bounds: str) -> Tensor:
    """A weighter's weights along the trajectory that they lead to, by its own plan."""
    if bounds == "simplex" and isinstance(weighter, tp.MiniBatchWeighter):
        weighter = Normalised(weighter)
    w = alone(problem, weighter).weights
    return w / w.sum(1, keepdim=True) if bounds == "simplex" else w


@pytest.mark.parametrize("rule", [Tilted(), TRIM, tp.weighters.OPUS()], ids=repr)
@pytest.mark.parametrize("curvature", ["none", "gauss-newton"])
def test_the_nominal_is_the_rules_own_training_with_its_own_memory(rule, curvature):
    problem = classification(3, 4, seed=1)
    own = alone(problem, rule)
    tow = tp.TOW(nominal=rule, beta=0.3, curvature=curvature, acceptance="strict")
    stays = problem.plan(replace(tow, iterations=0))
    assert torch.equal(stays.weights, own.weights)
    assert float((own.weights - 0.25).abs().max()) > 0.01
    torch.testing.assert_close(stays.final.x, own.final.x, rtol=1e-12, atol=0)
    plan = problem.plan(tow)
    expected = {"nominal": own.weighter_state}
    assert plan.weighter_state == stays.weighter_state == json.loads(json.dumps(expected))
    by_hand = problem.value(own.weights, 0.3, mu=own.weights)
    assert plan.nominal_cost == pytest.approx(by_hand, rel=1e-10)
    by_hand = problem.value(plan.weights, 0.3, mu=own.weights)
    assert plan.cost == pytest.approx(by_hand, rel=1e-10)
    assert plan.cost < plan.nominal_cost
    # the rule goes on from where the nominal left it, not the plan
    after = tow.plan(
        problem.objective,
        plan.params,
        plan.optimizer_state,
        problem.window,
        targets=problem.targets,
        state=plan.weighter_state,
    )
    assert after.weighter_state["nominal"]["step"] == 6


def test_a_rule_costs_what_it_asks_for_and_nothing_else():
    problem = classification(3, 4, seed=1)  # two targets for four tasks
    towards = tp.TOW.towards_targets(beta=1.0, shrink="none", scale="window", iterations=0)
    free = problem.plan(towards).evaluations
    assert problem.plan(replace(towards, nominal=TRIM)).evaluations == free
    asks = problem.plan(replace(towards, nominal=tp.weighters.OPUS())).evaluations
    assert asks == free + 3 * 2 / 4
    sketched = problem.plan(tp.TOW(iterations=1, nominal=TRIM))
    assert sketched.sketches == problem.plan(tp.TOW(iterations=1)).sketches > 0


CURVATURES = ["gauss-newton", "gauss-newton-exact", "hutchinson", "none"]


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize("targets", [True, False])
def test_a_plan_about_equal_weights_is_the_usual_one_to_the_bit(curvature, targets):
    problem = regression(3, 4, seed=3)
    problem = problem if targets else problem.without_targets()
    tow = tp.TOW(beta=0.2, curvature=curvature)
    usual = problem.plan(tow)
    for rule in (tp.Uniform(), Equal()):
        plan = problem.plan(replace(tow, nominal=rule))
        assert torch.equal(plan.weights, usual.weights)
        assert torch.equal(plan.final.x, usual.final.x)
        assert (plan.cost, plan.nominal_cost) == (usual.cost, usual.nominal_cost)
        assert plan.predicted_decrease == usual.predicted_decrease
    assert tp.TOW(nominal=tp.Uniform()) == tp.TOW(nominal="uniform") == tp.TOW()


# Oracles about a nominal that is not uniform


def rolled(problem: Problem, rule: tp.MiniBatchWeighter, bounds: str) -> tuple[Any, Any]:
    """The window as a control problem with the exact adjoint, and the nominal in it."""
    cost = OwnTasks() if problem.targets is None else TargetTasks(problem.targets)
    setting = Setting(
        problem.objective,
        Start.of(problem.params, problem.state),
        WholeView(problem.window),
        cost,
        Modelling("gauss-newton-exact", exact_adjoint=True),
    )
    window = WindowProblem(setting)
    nominal = RuleNominal(rule, None, problem.targets)
    return window, nominal.rolled(window, bounds_of(bounds), derivatives=True)


@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam"])
@pytest.mark.parametrize("targets", [True, False])
@pytest.mark.parametrize("bounds", ["project", "simplex"])
def test_the_costate_about_a_rule_is_the_gradient_of_the_true_cost(optimiser, targets, bounds):
    problem = start_of(regression(3, 4, seed=5, samples=4), optimiser)
    problem = problem if targets else problem.without_targets()
    for rule in (Tilted(), TRIM):
        u = nominal_weights(problem, rule, bounds)
        window, nominal = rolled(problem, rule, bounds)
        torch.testing.assert_close(nominal.actions, u, rtol=1e-12, atol=1e-14)
        assert nominal.mean is nominal.actions
        found = costate_gradient(window.model(nominal.trajectory))
        value, gradient = problem.value_and_gradient(u.numpy().reshape(-1), 0.0)
        assert nominal.trajectory.state_costs is not None
        assert sum(nominal.trajectory.state_costs) == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(found.reshape(-1), gradient, rtol=1e-8, atol=1e-12)


def best(problem: Problem, beta: float, mu: Tensor, bounds: str) -> OptimizeResult:
    """The optimum of the true cost about the prior mean mu, by scipy from there."""
    T, M = problem.shape
    sums = np.kron(np.eye(T), np.ones((1, M)))
    on_simplex: dict[str, Any] = {
        "method": "SLSQP",
        "constraints": [{"type": "eq", "fun": lambda u: sums @ u - 1.0, "jac": lambda u: sums}],
        "options": {"ftol": 1e-15, "maxiter": 1000},
    }
    nonnegative: dict[str, Any] = {
        "method": "L-BFGS-B",
        "options": {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000},
    }
    return minimize(
        lambda flat: problem.value_and_gradient(flat, beta, mu=mu),
        mu.numpy().reshape(-1),
        jac=True,
        bounds=[(0.0, None)] * (T * M),
        **(on_simplex if bounds == "simplex" else nonnegative),
    )


# (problem, optimiser, targets, bounds, rule, seed, beta); beta so small that weights reach zero
OPTIMA: list[tuple[Callable[..., Problem], str, bool, str, tp.MiniBatchWeighter, int, float]] = [
    (regression, "sgd", True, "project", Tilted(), 0, 0.05),
    (regression, "sgd", False, "simplex", Tilted(), 1, 0.05),
    (classification, "momentum", True, "simplex", TRIM, 0, 0.1),
    (regression, "momentum", False, "project", Tilted(), 2, 0.1),
    (regression, "adam", True, "simplex", Tilted(), 0, 0.02),
    (classification, "adam", True, "project", TRIM, 0, 0.1),
]


@pytest.mark.parametrize("case", OPTIMA, ids=lambda c: f"{c[1]}-{c[2]}-{c[3]}-{c[0].__name__}")
def test_a_plan_about_a_rule_reaches_the_optimum_of_scipy(case):
    make, optimiser, targets, bounds, rule, seed, beta = case
    problem = start_of(make(3, 3, seed=seed, samples=4), optimiser)
    problem = problem if targets else problem.without_targets()
    mu = nominal_weights(problem, rule, bounds)
    found = best(problem, beta, mu, bounds)
    assert (found.x <= 1e-9).any(), "the case must have active bounds"
    tow = tp.TOW(
        nominal=rule,
        beta=beta,
        bounds=bounds,
        adjoint="exact",
        curvature="gauss-newton-exact",
        iterations=80,
        tolerance=1e-5,
        acceptance="strict",
    )
    plan = problem.plan(tow)
    assert plan.nominal_cost - found.fun > 1e-3 * abs(found.fun), "there must be something to gain"
    assert plan.cost == pytest.approx(found.fun, rel=1e-6)
    np.testing.assert_allclose(plan.weights.numpy().reshape(-1), found.x, atol=1e-3)
    # the conditions of Karush, Kuhn and Tucker: a step against the gradient ends where it began
    flat = plan.weights.numpy().reshape(-1)
    _, gradient = problem.value_and_gradient(flat, beta, mu=mu)
    moved = plan.weights - torch.from_numpy(gradient).reshape(plan.weights.shape)
    chosen = bounds_of(bounds)
    assert hasattr(chosen, "project")
    np.testing.assert_allclose(chosen.project(moved), plan.weights, atol=1e-3)


@pytest.mark.parametrize("bounds", ["project", "simplex", "backtrack"])
@pytest.mark.parametrize(
    "name", ["mixture", "exploration", "cvar", "mgda", "l2rw", "mwl-maml", "pds", "tow-auto"]
)
def test_no_plan_is_worse_than_the_weights_it_is_about(name, bounds):
    problem = classification(3, 4, seed=4, samples=3)
    given = {"warmup": 0} if name == "mixture" else {}
    weighter = WEIGHTERS[name].make(**{**WEIGHTERS[name].presets, **given})
    plan = problem.plan(tp.TOW(nominal=weighter, beta=0.05, bounds=bounds, tolerance=0.0))
    mu = nominal_weights(problem, weighter, bounds)
    nothing = (mu == 0).all(1, keepdim=True) | torch.isnan(mu).all(1, keepdim=True)
    mu = torch.where(nothing, torch.full_like(mu, 0.25), mu)
    assert plan.nominal_cost == pytest.approx(problem.value(mu, 0.05, mu=mu), rel=1e-10)
    assert plan.cost <= plan.nominal_cost
    assert plan.cost == pytest.approx(problem.value(plan.weights, 0.05, mu=mu), rel=1e-10)
    if bounds != "backtrack":  # which sticks at a weight that is 0 from the beginning
        assert plan.cost < plan.nominal_cost
    assert bool((plan.weights >= 0).all())


# The scale of the prior, zeros, muted tasks


@pytest.mark.parametrize("optimiser", ["momentum", "adam"])
def test_an_automatic_beta_lets_weights_deviate_from_the_rules_by_the_spread(optimiser):
    T, M, spread = 3, 4, 0.1
    problem = start_of(regression(T, M, seed=3, samples=4), optimiser)
    mu = nominal_weights(problem, Tilted(0.5), "simplex")
    u = mu.clone().requires_grad_()
    (g0,) = torch.autograd.grad(problem.cost(u, 0.0), u)
    g0 = g0 - g0.mean(1, keepdim=True)
    betas = M * g0.abs().amax(1) / spread
    tow = tp.TOW.towards_targets(
        nominal=Tilted(0.5), adjoint="exact", spread=spread, shrink="none", tolerance=0.0
    )
    plan = problem.plan(tow)
    assert plan.beta == pytest.approx(float(betas.max()), rel=1e-8)
    torch.testing.assert_close(plan.weights, mu - g0 / betas[:, None], rtol=0, atol=1e-8)
    shrunk = problem.plan(replace(tow, shrink="agreement"))
    assert shrunk.agreement is not None
    assert shrunk.beta * shrunk.agreement == pytest.approx(plan.beta, rel=1e-8)


def test_a_task_that_the_rule_drops_can_only_rise():
    problem = regression(3, 5, seed=3)
    plan = problem.plan(tp.TOW.towards_targets(nominal=TRIM, shrink="none"))
    dropped = nominal_weights(problem, TRIM, "simplex") == 0
    assert bool(dropped.any())
    assert bool((plan.weights[dropped] > 0).any())
    assert bool((plan.weights >= 0).all())
    torch.testing.assert_close(plan.weights.sum(1), torch.ones(3, dtype=F64))


@pytest.mark.parametrize("bounds", ["project", "simplex"])
def test_a_rule_that_weighs_nothing_means_equal_weights(bounds):
    problem = regression(3, 4, seed=3)
    usual = problem.plan(tp.TOW(beta=0.2, bounds=bounds))
    plan = problem.plan(tp.TOW(beta=0.2, bounds=bounds, nominal=Nothing()))
    assert torch.equal(plan.weights, usual.weights)


@pytest.mark.parametrize("nominal", ["uniform", "random", Tilted()], ids=repr)
def test_on_the_simplex_muted_tasks_keep_no_mass_and_cost_nothing(nominal):
    problem = regression(3, 4, seed=3)
    muted = Muted(tasks=frozenset({(0, 1), (2, 0), (2, 3)}))
    tow = tp.TOW(beta=0.2, bounds="simplex", nominal=nominal)
    inputs = (problem.objective, problem.params, problem.state, problem.window)
    plan = tow.plan(*inputs, targets=problem.targets, muted=muted)
    for t, i in muted.tasks:
        assert plan.weights[t, i] == 0
    torch.testing.assert_close(plan.weights.sum(1), torch.ones(3, dtype=F64))
    start = replace(tow, iterations=0).plan(*inputs, targets=problem.targets, muted=muted).weights
    mean = start.clone()
    if nominal == "random":  # the prior's mean stays uniform: over the tasks that are there
        mean = torch.where(start == 0, 0.0, 1.0 / (start > 0).sum(1, keepdim=True)).double()
    # a weight of 0 is what muting does in the true problem
    assert plan.nominal_cost == pytest.approx(problem.value(start, 0.2, mu=mean), rel=1e-10)
    assert plan.cost == pytest.approx(problem.value(plan.weights, 0.2, mu=mean), rel=1e-10)
    assert plan.cost < plan.nominal_cost


# Weighters of whole windows, and what is refused


@pytest.mark.parametrize("name", ["pds", "tow"])
def test_a_weighter_of_whole_windows_plans_first_and_its_work_counts(name):
    problem = classification(3, 4, seed=1)
    weighter = WEIGHTERS[name].make()
    own = alone(problem, weighter)
    tow = tp.TOW(nominal=weighter, beta=0.5, iterations=0)
    plan = problem.plan(tow)
    torch.testing.assert_close(plan.weights, own.weights)
    usual = problem.plan(replace(tow, nominal="uniform"))
    assert plan.evaluations == pytest.approx(usual.evaluations + own.evaluations)
    assert plan.products == pytest.approx(own.products)
    assert plan.sketches == pytest.approx(own.sketches)


@pytest.mark.parametrize("nominal", [tp.weighters.L2RW(), tp.weighters.PDS()], ids=repr)
def test_a_target_that_is_not_finite_is_named_by_the_rule_that_looked_at_it(nominal):
    problem = regression(3, 4, seed=3)
    assert problem.targets is not None
    x, y = problem.targets[1][0]
    broken = [list(batch) for batch in problem.targets]
    broken[1][0] = (x, torch.full_like(y, torch.nan))
    plan = replace(problem, targets=broken).plan(tp.TOW(nominal=nominal))
    assert plan.status is tp.Status.NON_FINITE_NOMINAL
    assert plan.bad.targets == {(1, 0)}
    assert plan.weights.shape == (3, 4)
    assert torch.equal(plan.final.x, plan.initial.x)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"nominal": "mixtur"}, "Did you mean 'mixture'"),
        ({"nominal": 3}, "an object with a method plan"),
        ({"nominal": "trim", "mu": 0.1}, "the prior's mean is the weighter's weights"),
        ({"nominal": "trim", "normalise": "softmax", "bounds": "none"}, "has no logit"),
        (
            {"nominal": "trim", "query_share": 0.5, "iterations": 1, "curvature": "none"},
            "takes 'uniform' there",
        ),
    ],
)
def test_what_cannot_be_planned_about_is_refused_in_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        tp.TOW(**options)


def test_a_rule_that_wants_targets_says_so_where_there_are_none():
    problem = regression(2, 3).without_targets()
    with pytest.raises(ValueError, match=r"TOW\(nominal=OPUS\(...\)\) found no targets"):
        problem.plan(tp.TOW(nominal="opus"))
    with pytest.raises(ValueError, match=r"\['step'\]; expected 'nominal'"):
        tp.TOW(nominal="trim").plan(
            problem.objective, problem.params, problem.state, problem.window, state={"step": 1}
        )


def test_windows_follow_each_other_where_only_the_search_has_something_to_remember():
    """A nominal that plans by itself may leave no memory, where the plan about it leaves some."""
    tow = tp.TOW(beta=0.03, nominal="tow-faithful", acceptance="chance")
    state, kept = None, []
    for seed in range(6):
        problem = regression(4, 5, seed=seed, lr=0.1).without_targets()
        plan = problem.plan(tow, state=state)
        state = plan.weighter_state
        kept.append(sorted(state))
    assert ["search"] in kept
