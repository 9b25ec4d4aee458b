"""Rules that want targets, ours and a user's, in recipes: data, work, estimates, resume."""

import pytest
import torch

import towpath as tp
from tests.training.ahead import Ahead
from towpath.data.trusted import FixedTrusted
from towpath.recipes.component import Component
from towpath.recipes.components import component_wants_targets
from towpath.training import Recipe, RecipeError, resume, train
from towpath.training.estimate import estimate
from towpath.training.setup import prepare
from towpath.weighters import WEIGHTERS
from towpath.weighters.pds import PRODUCT
from towpath.weighters.rules.site import FORWARD
from towpath.weighters.work import window_work

from .runs import TINY, Killed, Silent, Stopping, outcome, records, run, tiny

USERS = "tests.training.ahead:Ahead"


def test_a_users_rule_named_by_its_import_path_gets_targets(tmp_path):
    path = run(tmp_path / "run", tiny(USERS), allowed=["tests"])
    plans = [line["plan"] for line in records(path) if "plan" in line]
    # per mini-batch four tasks (two of them trusted) and three looks at two targets
    assert {plan["evaluations"] for plan in plans} == {2 * (1 + 3 * 2 / 4)}
    assert max(plan["spread"] for plan in plans) > 0.1


def test_the_targets_are_other_trusted_tasks_than_the_mini_batchs_own():
    setup = prepare(tiny(USERS, trusted={"count": 5, "per_batch": 2}), allowed=["tests"])
    window, targets = setup.window(0, 40)
    assert targets is not None
    assert isinstance(setup.trusted, FixedTrusted)
    for batch, goals in zip(window, targets, strict=True):
        assert len(goals) == 2
        own, aimed = {id(task) for task in batch}, {id(task) for task in goals}
        assert not own & aimed
        assert aimed <= {id(task) for task in setup.trusted}
    uniform = prepare(tiny("uniform", trusted={"count": 5, "per_batch": 2}))
    assert uniform.window(0, 40)[1] is None


def test_a_users_rule_that_was_killed_ends_equal(tmp_path):
    recipe = tiny(USERS)
    whole = outcome(run(tmp_path / "whole", recipe, allowed=["tests"]))
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        train(out, recipe, Stopping(17, Killed), allowed=["tests"])
    resume(out, Silent(), allowed=["tests"])
    assert outcome(out) == whole


def test_a_rule_without_its_trusted_tasks_is_refused():
    for name in ("l2rw", USERS):
        with pytest.raises(RecipeError, match=r"wants trusted tasks .* Set trusted\.count"):
            prepare(tiny(name, trusted={}), allowed=["tests"])


RULES = ("l2rw", "opus", "mwl-maml", "alpha-maml", "auto-lambda", "meta-weight-net", "doge", "ats")


def planned(name):
    """A run's setup, the plan of its first window, and the work that was expected of it."""
    setup = prepare(tiny(name), allowed=["tests"])
    window, targets = setup.window(0, 40)
    assert targets is not None
    start = setup.start
    plan = setup.weighter.plan(
        setup.objective, start.params, start.optimizer, window, targets=targets
    )
    work = window_work(setup.weighter, len(window), len(targets[0]) / len(window[0]))
    return setup, plan, work


@pytest.mark.parametrize("name", [*RULES, USERS])
def test_the_estimate_counts_the_targets(name):
    setup, plan, work = planned(name)
    assert plan.evaluations == pytest.approx(work.evaluations + FORWARD * work.forwards)
    P = sum(p.numel() for p in setup.start.params.values())
    assert estimate(setup).plan_bytes == (2 + 2 + 2) * P * 4


def test_the_estimate_of_pds_counts_both_ways_through_the_window():
    _, plan, work = planned("pds")
    assert plan.evaluations + PRODUCT * plan.products == pytest.approx(work.evaluations)


def test_a_recipe_fills_in_what_follows_from_its_steps():
    tune = prepare(tiny("fine-tune")).weighter
    assert isinstance(tune, tp.FineTune)
    assert tune.after == 32  # 80 per cent of 40
    given = Recipe.of({**TINY, "weighter": {"name": "fine-tune", "after": 5}})
    made = prepare(given).weighter
    assert isinstance(made, tp.FineTune)
    assert made.after == 5
    ats = prepare(tiny("ats")).weighter
    assert isinstance(ats, tp.ATS)
    assert ats.steps == 40


@pytest.mark.parametrize("name", ["fine-tune", "trusted-only"])
def test_a_schedule_without_trusted_tasks_is_refused(name):
    with pytest.raises(RecipeError, match=r"trains on trusted tasks .* Set trusted\.count"):
        prepare(tiny(name, trusted={}))


def test_a_weighter_says_itself_whether_it_wants_targets():
    wanting = {name for name in WEIGHTERS if component_wants_targets(Component(name))}
    assert wanting == {
        *("kinds", "l2rw", "nested", "meta-weight-net", "mwl-maml", "alpha-maml", "auto-lambda"),
        *("doge", "opus", "pds", "ats", "tow-targets", "tow-targets-fast", "race", "auto"),
        "tow-evidence",
    }
    for name in WEIGHTERS:
        assert prepare(tiny(name)).weighter.wants_targets == (name in wanting)
    assert component_wants_targets(Component("tow", {"wants_targets": True}))
    assert not component_wants_targets(Component(USERS)), "a report imports nothing"
    assert Ahead.wants_targets
    assert tp.TOW.towards_targets(shrink="none").wants_targets


def test_plain_tow_aims_at_targets_where_a_recipe_says_so():
    weighter = {"name": "tow", "wants_targets": True, "beta": 1e-3}
    setup = prepare(Recipe.of({**TINY, "weighter": weighter}))
    window, targets = setup.window(0, 40)
    assert targets is not None
    plan = setup.weighter.plan(
        setup.objective, setup.start.params, setup.start.optimizer, window, targets=targets
    )
    assert plan.agreement is not None, "two targets a mini-batch can agree"
    assert torch.isfinite(plan.weights).all()
