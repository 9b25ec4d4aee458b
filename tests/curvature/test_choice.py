"""Which curvature a loss gets, and that the plan says why."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import towpath as tp
from tests.curvature.test_output_hessian import INPUTS, LABELS, NUMBERS, YES, scores
from tests.oracles.compare import assert_close
from tests.oracles.training import network, parameters
from towpath.curvature.choice import CurvatureUsed
from towpath.objective import Curvature


def sine(f, y):
    return torch.sin(f - y).mean()


def own_loss(params, task):
    return F.mse_loss(network(params, task[0]), task[1])


CASES = {
    "named": (scores, "cross_entropy", LABELS, CurvatureUsed.GAUSS_NEWTON),
    "by autograd": (scores, nn.SmoothL1Loss(), NUMBERS, CurvatureUsed.GAUSS_NEWTON),
    "no outputs": (own_loss, None, NUMBERS, CurvatureUsed.HUTCHINSON_NO_OUTPUTS),
    "not convex": (scores, sine, NUMBERS, CurvatureUsed.HUTCHINSON_NOT_CONVEX),
    "linear": (scores, nn.L1Loss(), NUMBERS, CurvatureUsed.HUTCHINSON_LINEAR),
    "once": (scores, nn.MultiMarginLoss(), LABELS, CurvatureUsed.NONE_NOT_TWICE),
}


def evaluated(fn, loss, targets, kind):
    objective = tp.Objective.from_function(fn, loss=loss)
    weights = torch.ones(1, 1, dtype=torch.float64)
    return objective.evaluate(
        parameters(), [(INPUTS, targets)], curvature=Curvature(kind, weights, 3), seed=5
    )


@pytest.mark.parametrize("case", CASES)
def test_the_choice_and_its_reason_are_told(case):
    fn, loss, targets, expected = CASES[case]
    here = evaluated(fn, loss, targets, "gauss-newton")
    assert here.curvature_used == {expected}
    assert expected.as_asked == (expected is CurvatureUsed.GAUSS_NEWTON)
    assert expected.message.endswith(".")
    assert here.curvature is not None
    assert bool(here.curvature.any()) != (expected is CurvatureUsed.NONE_NOT_TWICE)


@pytest.mark.parametrize("case", ["no outputs", "not convex", "linear"])
def test_where_gauss_newton_is_not_possible_the_diagonal_is_hutchinsons(case):
    fn, loss, targets, _ = CASES[case]
    chosen = evaluated(fn, loss, targets, "gauss-newton").curvature
    asked = evaluated(fn, loss, targets, "hutchinson")
    assert_close(chosen, asked.curvature, 0.0)
    assert asked.curvature_used == {CurvatureUsed.HUTCHINSON}


def test_a_loss_that_is_asked_for_hutchinson_and_has_none_is_an_error():
    with pytest.raises(RuntimeError, match="not implemented"):
        evaluated(scores, nn.MultiMarginLoss(), LABELS, "hutchinson")


def test_a_function_whose_loss_has_no_second_derivative_gets_no_curvature():
    def fn(params, task):
        return F.multi_margin_loss(network(params, task[0]), task[1])

    here = evaluated(fn, None, LABELS, "gauss-newton")
    assert here.curvature_used == {CurvatureUsed.NONE_NOT_TWICE}
    assert here.curvature is not None
    assert not here.curvature.any()


def planned(fn, loss, targets, **options):
    params = parameters()
    tasks = [(INPUTS, targets), (INPUTS.flip(0), targets)]
    start = tp.Adam(lr=0.01).init(params)
    objective = tp.Objective.from_function(fn, loss=loss)
    return tp.TOW(**options).plan(objective, params, start, [tasks, tasks, tasks])


def test_a_plan_reports_the_curvature_it_was_made_with():
    plan = planned(scores, "bce", YES)
    assert plan.curvature_used == {CurvatureUsed.GAUSS_NEWTON}
    assert "curvature:" not in str(plan)
    plan = planned(own_loss, None, NUMBERS)
    assert plan.curvature_used == {CurvatureUsed.HUTCHINSON_NO_OUTPUTS}
    assert "curvature: hutchinson, outputs unknown. The task function returns" in str(plan)
    assert planned(scores, "bce", YES, curvature="none").curvature_used == frozenset()


def test_the_losses_and_weights_of_a_function_that_returns_its_loss_are_those_of_the_named_loss():
    """With the same curvature, which cannot be Gauss-Newton, everything is equal."""
    own = planned(own_loss, None, NUMBERS, curvature="hutchinson")
    named = planned(scores, "mse", NUMBERS, curvature="hutchinson")
    assert_close(own.weights, named.weights, 1e-12)
    assert torch.equal(own.losses, named.losses)
