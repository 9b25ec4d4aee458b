"""Trusted tasks in runs: drawn once or fresh, to train on, to aim at and to judge by."""

import json

import pytest
from safetensors import safe_open

from towpath.data import DataError
from towpath.data.trusted import FixedTrusted
from towpath.training import RecipeError, resume, train
from towpath.training.setup import prepare

from .runs import Killed, Silent, Stopping, outcome, records, run, tiny

REFEREE = "tests.training.judge:Referee"
SIX = {"count": 6, "per_batch": 2}
FRESH = {"count": 6, "per_batch": 2, "classes": 6}


def setup(weighter="uniform", **sections):
    return prepare(tiny(weighter, **sections), allowed=["tests"])


def trained_on(path):
    """Classes of the trusted tasks that were trained on, by record."""
    lines = [line for line in records(path) if "losses" in line]
    return [t for line in lines for t in line["tasks"] if t.get("trusted")]


def memory(path):
    with safe_open(path / "checkpoints" / "last.safetensors", framework="numpy") as file:
        return json.loads(file.metadata()["towpath"])["weighter_state"]


def test_judges_are_kept_out_of_training_and_of_targets():
    judging = setup(REFEREE, trusted=SIX)
    judges = judging.judges(0)
    assert len(judges) == 2  # a third of six
    aside = {id(task) for task in judges}
    for position in range(20):
        window, targets = judging.window(position, 40)
        assert targets is None
        assert not aside & {id(task) for batch in window for task in batch}
        beside = [judging.trusted.batch(position, t) for t in range(2)]
        assert not aside & {id(task) for batch in beside for task in batch.targets}
    assert [id(task) for task in judging.judges(9)] == [id(task) for task in judges]


@pytest.mark.parametrize(("asked", "kept"), [(0.5, 3), (0.01, 1), (1, 1), (4, 4), (1 / 3, 2)])
def test_judges_are_a_fraction_or_a_number(asked, kept):
    assert len(setup(REFEREE, trusted={**SIX, "judges": asked}).judges(0)) == kept
    assert setup("uniform", trusted={**SIX, "judges": asked}).judges(0) == []


def test_other_weighters_train_on_all_trusted_tasks_whatever_judges_says(tmp_path):
    plain = run(tmp_path / "plain", tiny("tow-targets", trusted=SIX))
    asked = run(tmp_path / "asked", tiny("tow-targets", trusted={**SIX, "judges": 0.5}))
    assert records(plain) == records(asked)
    assert len({task["index"] for task in trained_on(plain)}) == 6


def test_a_weighter_that_judges_gets_its_judges_in_training_and_after_a_kill(tmp_path):
    recipe = tiny(REFEREE, trusted=SIX)
    whole = run(tmp_path / "whole", recipe, allowed=["tests"])
    seen = memory(whole)
    assert seen["windows"] == 20
    assert seen["judges"] == [4, 5]
    assert {task["index"] for task in trained_on(whole)} == {0, 1, 2, 3}
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        train(out, recipe, Stopping(17, Killed), allowed=["tests"])
    resume(out, Silent(), allowed=["tests"])
    assert outcome(out) == outcome(whole)
    assert memory(out) == seen


def test_too_few_trusted_tasks_to_judge_by_are_refused():
    with pytest.raises(RecipeError, match=r"judges by trusted tasks .* trusted\.count 0"):
        setup(REFEREE, trusted={})
    with pytest.raises(RecipeError, match=r"keeps 2 of 3 .* Raise trusted\.count"):
        setup(REFEREE, trusted={"count": 3, "per_batch": 2, "judges": 2})
    with pytest.raises(RecipeError, match=r"trusted\.judges is 1\.5; expected a fraction"):
        tiny(trusted={**SIX, "judges": 1.5})
    with pytest.raises(RecipeError, match=r"trusted\.count 0, which means no"):
        tiny(trusted={"classes": 6})


def test_a_share_of_the_trusted_tasks_is_wrong_on_purpose_and_nothing_else_changes():
    right, wrong = (
        list(setup(trusted={"count": 40, "per_batch": 2, **noise}).trusted)
        for noise in ({}, {"label_noise": 0.5})
    )
    bad = [task.info["mislabelled"] for task in wrong]
    assert 8 <= sum(bad) <= 32
    assert not any(task.info["mislabelled"] for task in right)
    for one, other, mislabelled in zip(right, wrong, bad, strict=True):
        assert one.query_x.equal(other.query_x)
        assert one.query_y.equal(other.query_y) == (not mislabelled)
        assert other.info["trusted"]


def test_trusted_classes_are_no_training_classes_and_their_tasks_are_fresh():
    made = setup("tow-targets", trusted=FRESH)
    ordinary, trusted, seen = set(), set(), []
    for position in range(30):
        window, targets = made.window(position, 40)
        for batch, goals in zip(window, targets, strict=True):
            ordinary |= {name for task in batch[:2] for name in task.info["classes"]}
            trusted |= {name for task in (*batch[2:], *goals) for name in task.info["classes"]}
            seen += [task.info["index"] for task in (*batch[2:], *goals)]
            assert all(task.info["trusted"] for task in (*batch[2:], *goals))
    assert len(trusted) == 6
    assert not ordinary & trusted
    assert sorted(seen) == list(range(30 * 2 * 4))  # none comes twice
    assert not made.judges(0)


def test_fresh_judges_are_of_other_classes_than_what_is_trained_on():
    made = setup(REFEREE, trusted=FRESH)
    trained, judging = set(), set()
    for position in range(30):
        window, _ = made.window(position, 40)
        trained |= {n for batch in window for task in batch for n in task.info["classes"]}
        judging |= {n for task in made.judges(position) for n in task.info["classes"]}
    assert len(made.judges(3)) == 2
    assert judging
    assert not judging & trained
    first, second = ([task.info["index"] for task in made.judges(position)] for position in (0, 1))
    assert not set(first) & set(second)
    with pytest.raises(DataError, match=r"needs two.*Raise trusted\.classes"):
        setup(REFEREE, trusted={**FRESH, "classes": 2})


def test_fresh_tasks_of_a_trusted_set_leave_the_training_tasks_as_they_are():
    other = {"count": 6, "per_batch": 2, "data": "glyphs", "fresh": True}
    fixed = {key: value for key, value in other.items() if key != "fresh"}
    made, plain = setup(trusted=other), setup(trusted=fixed)
    assert isinstance(plain.trusted, FixedTrusted)
    for position in range(3):
        fresh, drawn_once = made.window(position, 40)[0], plain.window(position, 40)[0]
        for one, two in zip(fresh, drawn_once, strict=True):
            assert [t.info for t in one[:2]] == [t.info for t in two[:2]]
    indices = [t.info["index"] for p in range(5) for b in made.window(p, 40)[0] for t in b[2:]]
    assert len(set(indices)) == len(indices)
    info = made.window(2, 40)[0][1][2].info
    again = made.trusted.again(info)
    assert again is not None
    assert again.info == info


def test_a_run_with_fresh_trusted_tasks_that_was_killed_ends_equal(tmp_path):
    recipe = tiny(REFEREE, trusted=FRESH)
    whole = outcome(run(tmp_path / "whole", recipe, allowed=["tests"]))
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        train(out, recipe, Stopping(17, Killed), allowed=["tests"])
    resume(out, Silent(), allowed=["tests"])
    assert outcome(out) == whole


def test_a_run_says_from_which_count_on_a_race_can_choose_and_targets_are_enough():
    few = setup("auto", trusted={"count": 4, "per_batch": 2})
    assert any("it can from 5 on" in note for note in few.notes)
    five = setup("auto", trusted={"count": 5, "per_batch": 2})
    assert not any("it can from" in note for note in five.notes)
    assert any("has 3 trusted tasks to train on and to aim at" in note for note in five.notes)
    assert any("From 4 on none is" in note for note in setup("tow-targets").notes)
    assert not any("From" in note for note in setup("tow-targets", trusted=SIX).notes)
    assert not any("From" in note for note in setup("uniform").notes)
