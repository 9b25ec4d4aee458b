"""What a plan says of itself, to and from a record, and the figures that reports draw."""

import json

import pytest

from towpath.runs.plan_statistics import FOLLOWS_A_RULE, PlanStatistics

PLAN = PlanStatistics(
    status="iteration limit",
    weightless=2,
    nominal_cost=3.0,
    cost=2.5,
    beta=None,
    effective_tasks=[2.0, None, 4.0],
    steps=[1.0, 0.5],
    trials=[1, 3],
    evaluations=12.0,
)


def test_the_statistics_come_back_from_a_file():
    assert PlanStatistics.from_json(json.loads(json.dumps(PLAN.as_json()))) == PLAN


def test_weightless_mini_batches_are_written_only_where_there_are_any():
    assert PLAN.as_json()["weightless"] == 2
    plain = PlanStatistics(status=FOLLOWS_A_RULE[0]).as_json()
    assert "weightless" not in plain
    assert plain["agreement"] is None


def test_a_plan_of_an_early_release_leaves_open_what_it_did_not_say():
    early = PlanStatistics.from_json({"status": "converged", "steps": []})
    assert early.planned
    assert early.iterations == 0
    assert early.mean_step is None
    assert early.paper_linearisation is None


def test_figures_are_means_of_what_is_finite():
    assert PLAN.mean_step == 0.75
    assert PLAN.mean_effective_tasks == 3.0
    assert PLAN.iterations == 2
    for status in FOLLOWS_A_RULE:
        assert not PlanStatistics(status=status, steps=[]).planned


@pytest.mark.parametrize("change", [{"cost": "much"}, {"steps": 3}, {"weightless": -1}], ids=str)
def test_a_figure_that_is_none_is_refused(change):
    with pytest.raises(TypeError):
        PlanStatistics.from_json({**PLAN.as_json(), **change})
