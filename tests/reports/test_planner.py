"""The planner's section: which weighters plan, and what it draws of their plans."""

import re

import pytest

from tests.reports import synthetic
from towpath.reports.blocks import Figures, Table
from towpath.reports.sections.planner import (
    AGREEMENT,
    EFFECTIVE_TASKS,
    ITERATIONS,
    STEP_SIZES,
    optimising,
    planned,
    planner_section,
)
from towpath.runs.plan_statistics import PlanStatistics
from towpath.runs.read_studies import read_studies


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("planner") / "c"
    synthetic.write_comparison(path, 20, weighters=("uniform", "tow-targets"), seeds=(0,))
    (found,) = read_studies([path])
    return found


def test_rules_do_not_plan(study):
    assert optimising(study) == ["tow-targets"]
    assert planned(study, "uniform") == []
    assert len(planned(study, "tow-targets")) == 4


def test_quantities_are_read_off_a_plan_or_unknown():
    plan = PlanStatistics(
        status="converged", steps=[1.0, 0.5], effective_tasks=[2.0, 4.0], agreement=0.25
    )
    every = (STEP_SIZES, ITERATIONS, EFFECTIVE_TASKS, AGREEMENT)
    assert [one.of(plan) for one in every] == [0.75, 2, 3.0, 0.25]
    assert [one.of(PlanStatistics(status="rule")) for one in every] == [None] * 4


def test_the_section_shows_promises_step_sizes_and_how_the_plans_ended(study):
    section = planner_section(study)
    figures = [f for block in section.blocks if isinstance(block, Figures) for f in block.items]
    assert [figure.title for figure in figures] == [
        "tow-targets: planned against actual decrease",
        STEP_SIZES.title,
        ITERATIONS.title,
        EFFECTIVE_TASKS.title,
        AGREEMENT.title,
    ]
    assert re.search("tow-targets ends at 0.75", figures[1].svg)
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    (row,) = table.rows
    assert [cell.text for cell in row] == [
        "tow-targets",
        "iteration limit",
        "4",
        "100 %",
        "2.0",
        "3.0",
    ]
