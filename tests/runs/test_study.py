"""A study: what several weighters on one recipe have in common, and how they are shown."""

from tests.reports import synthetic
from towpath.runs.read import read_run
from towpath.runs.run_data import RunData
from towpath.runs.study import Study


def run(name, **changes):
    found = RunData(name, synthetic.recipe())
    for field, value in changes.items():
        setattr(found, field, value)
    return found


def test_the_baseline_is_uniform_or_else_the_first():
    assert Study("s", "s", {"tow": [], "uniform": []}).baseline == "uniform"
    assert Study("s", "s", {"tow": [], "cvar": []}).baseline == "tow"


def test_a_weighter_weighs_if_one_of_its_seeds_does():
    flat, moved = run("a", deviations=[(1, 0.0)]), run("b", deviations=[(1, 0.3)])
    study = Study("s", "s", {"uniform": [flat], "tow": [flat, moved]})
    assert study.weighing == ["tow"]
    assert study.all == [flat, flat, moved]


def test_a_small_budget_is_told_by_its_steps():
    recipe = synthetic.recipe(training={"steps": 40}, small={"training.steps": 40})
    assert Study("s", "s", {"tow": [run("a", recipe=recipe)]}).shortened
    whole = synthetic.recipe(training={"steps": 400}, small={"training.steps": 40})
    assert not Study("s", "s", {"tow": [run("a", recipe=whole)]}).shortened
    assert not Study("s", "s", {"tow": [RunData("unread")]}).shortened


def test_only_finished_seeds_are_shown_where_there_are_any(tmp_path):
    synthetic.write_run(tmp_path / "done", synthetic.recipe(), "tow", 5)
    done, running = read_run(tmp_path / "done"), run("running")
    assert Study("s", "s", {"tow": [running, done]}).seeds("tow") == [done]
    assert Study("s", "s", {"tow": [running]}).seeds("tow") == [running]
