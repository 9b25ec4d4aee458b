"""Costs are objects: a user's own is a single class. (For a user's rule with targets see
`LookAhead` in test_contract.py.)"""

import pytest
import torch

import towpath as tp
from tests.weighters.problems import regression
from tests.weighters.test_steering import RATE, scene
from towpath.control import costate_gradient
from towpath.weighters.muted import NOTHING_MUTED
from towpath.weighters.start import Start
from towpath.weighters.tow.cost import Cost, OwnTasks, TargetTasks
from towpath.weighters.tow.part import WholeView
from towpath.weighters.tow.problem import WindowProblem
from towpath.weighters.tow.setting import Modelling, Setting

F64 = torch.float64


class LastMiniBatch(Cost):
    """A user's cost: only the last mini-batch counts."""

    def counts(self, t, T):
        return t == T - 1


def last_cost(problem, u):
    """By hand: the cost of all mini-batches less that of all but the last."""
    before = type(problem)(
        problem.fn,
        problem.loss,
        problem.params,
        problem.window[:-1],
        None,
        problem.optimizer,
        problem.options,
    )
    return problem.cost(u, 0.0) - before.cost(u[:-1], 0.0)


def value(problem, u):
    return float(last_cost(problem, u).detach())


@pytest.fixture
def problem():
    return regression(4, 3, seed=3).without_targets()


def test_the_gradient_of_a_users_cost_is_that_of_autograd(problem):
    setting = Setting(
        problem.objective,
        Start.of(problem.params, problem.state),
        WholeView(problem.window),
        LastMiniBatch(),
        Modelling("gauss-newton", exact_adjoint=True),
    )
    window = WindowProblem(setting)
    u = torch.rand(4, 3, dtype=F64, generator=torch.Generator().manual_seed(1))
    trajectory = window.rollout(lambda t, z: u[t], derivatives=True)
    leaf = u.clone().requires_grad_()
    J = last_cost(problem, leaf)
    (expected,) = torch.autograd.grad(J, leaf)
    assert sum(trajectory.state_costs) == pytest.approx(float(J.detach()), rel=1e-12)
    gradient = costate_gradient(window.model(trajectory))
    torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-10)
    assert not gradient[-1].any(), "the last step comes after the last cost"


def test_a_plan_brings_the_users_cost_down(problem):
    beta = 0.01
    plan = problem.plan(tp.TOW(cost=LastMiniBatch(), beta=beta))
    prior = 0.5 * beta * float((plan.weights - 1 / 3).square().sum())
    assert plan.cost == pytest.approx(value(problem, plan.weights) + prior, rel=1e-10)
    assert plan.cost < plan.nominal_cost
    usual = problem.plan(tp.TOW(beta=beta))
    assert value(problem, plan.weights) < value(problem, usual.weights)


def test_a_users_cost_is_planned_on_a_part_of_the_query_sets():
    objective, params, window = scene()
    optimizer = tp.SGD(lr=RATE).init(params)
    tow = tp.TOW.fast(cost=LastMiniBatch(), beta="auto", spread=0.3, query_share=0.5)
    plan = tow.plan(objective, params, optimizer, window)
    whole = tp.TOW(
        cost=LastMiniBatch(), beta="auto", spread=0.3, iterations=1, curvature="none"
    ).plan(objective, params, optimizer, window)
    assert len(plan.history) == 1
    assert plan.part_evaluations > 0
    a, b = ((p.weights - 0.25)[:-1] for p in (plan, whole))
    assert float((a * b).sum() / (a.norm() * b.norm())) > 0.5


def test_targets_beside_a_users_cost_are_refused(problem):
    tow = tp.TOW(cost=LastMiniBatch())
    with pytest.raises(ValueError, match=r"cost=LastMiniBatch\(\.\.\.\)\) found targets"):
        tow.plan(
            problem.objective, problem.params, problem.state, problem.window, targets=problem.window
        )
    with pytest.raises(ValueError, match="replay"):
        tp.TOW(cost=LastMiniBatch(), terminal="replay")
    with pytest.raises(ValueError, match="cost='own'"):
        tp.TOW(cost="own")


def test_own_tasks_count_before_their_step_and_targets_after_it():
    window, targets = [["a", "b"], ["c", "d"]], [["x"], []]
    view = WholeView(window)
    own, goals = OwnTasks(), TargetTasks(targets)
    assert [own.counts(t, 2) for t in range(2)] == [True, True]
    assert [goals.counts(t, 2) for t in range(2)] == [False, False]
    assert own.after(1, view, NOTHING_MUTED) is None
    replayed = OwnTasks(replay=True)
    assert replayed.after(0, view, NOTHING_MUTED) is None
    last = replayed.after(1, view, NOTHING_MUTED)
    assert last is not None
    assert last.tasks == ["c", "d"]
    first = goals.after(0, view, NOTHING_MUTED)
    assert first is not None
    assert first.tasks == ["x"]
    assert goals.after(1, view, NOTHING_MUTED) is None
    assert not goals.has_halves
    assert TargetTasks([["x"], ["y"]]).has_halves
    assert goals.muting(0, [1]).targets == {(0, 1)}
    assert own.muting(0, [1]).tasks == {(0, 1)}


def test_one_target_a_mini_batch_makes_two_halves_of_the_window():
    J = torch.tensor([[1.0, 2.0]])
    cost = TargetTasks([["x"], [], ["y"], ["z", "w"]])
    halves = [cost.halves(t, J) for t in (0, 2)]
    assert [h.tolist() for h in halves if h is not None] == [
        [[1.0, 2.0], [0.0, 0.0]],
        [[0.0, 0.0], [1.0, 2.0]],
    ]
