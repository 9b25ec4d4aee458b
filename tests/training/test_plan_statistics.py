"""The statistics of a plan for its record; the paper's cost in them is in test_complexity."""

import math

import towpath as tp
from tests.weighters.problems import regression
from towpath.training.plan_statistics import plan_statistics


def said_of(weighter):
    problem = regression(3, 4)
    plan = weighter.plan(problem.objective, problem.params, problem.state, problem.window)
    return plan, plan_statistics(plan, problem.window)


def test_a_tow_plan_says_what_it_promised_and_did():
    plan, said = said_of(tp.TOW(beta=1.0))
    assert said.status == plan.status.value
    assert (said.nominal_cost, said.cost) == (plan.nominal_cost, plan.cost)
    assert said.actual_decrease == plan.nominal_cost - plan.cost > 0
    assert said.beta == 1.0
    assert said.trials == [line.trials for line in plan.history]
    assert len(said.effective_tasks) == 3


def test_a_beta_that_json_cannot_hold_is_not_known():
    plan, said = said_of(tp.Uniform())
    assert not math.isfinite(plan.beta)
    assert said.beta is None
    assert said.weightless == 0


def test_mini_batches_that_weigh_nothing_are_counted():
    class SecondOnly(tp.MiniBatchWeighter):
        def weights(self, batch, state):
            return (batch.losses * 0 + (batch.step == 1)), state

    assert said_of(SecondOnly())[1].weightless == 2
