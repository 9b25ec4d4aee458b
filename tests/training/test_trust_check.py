"""Wrong trusted tasks in runs: found, named, left out; harmless where most are wrong."""

from dataclasses import replace

import pytest

from towpath.data.trusted import FixedTrusted
from towpath.reports.blocks import Table
from towpath.reports.sections.trust import trust_section
from towpath.runs.read import read_run
from towpath.runs.read_studies import read_studies
from towpath.runs.trust import ALL_TRUSTED, Trust
from towpath.training import Recipe, resume, train, trust_check
from towpath.training.setup import prepare
from towpath.training.trust_check import check_due
from towpath.training.trusting import checks_trust, first_trust, still_usable
from towpath.weighters import Uniform, Weighter

from .runs import TINY, Killed, Silent, Stopping, outcome, records, run

SCRIPTS = ["Latin", "Greek", "Cyrillic", "Armenian", "Hebrew", "Coptic", "Asomtavruli"]
LEARNING = {
    **TINY,
    "data": {"name": "glyphs", "drawings": 8, "scripts": SCRIPTS},
    "episodes": {"ways": 5, "shots": 1, "query": 5},
    "backbone": {"name": "mlp", "hidden": [32]},
    "optimizer": {"name": "adam", "meta_lr": 0.001},
    "training": {"steps": 24, "horizon": 2, "meta_batch_size": 6, "checkpoint_every": 6},
    "validation": {"tasks": 2, "every": 0},
}
"""glyphs of seven scripts and 25 queries a task: enough to tell right labels from wrong ones"""


def learning(weighter="opus", **trusted) -> Recipe:
    trusted = {"count": 20, "per_batch": 1, "label_noise": 0.4, **trusted}
    return Recipe.of({**LEARNING, "weighter": {"name": weighter}, "trusted": trusted})


class Noting(Silent):
    """A reporter that keeps what it is told."""

    def __init__(self):
        self.notes = []

    def noted(self, step, note):
        self.notes.append((step, note))


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """A run with wrong trusted tasks, and what its user was told."""
    path, reporter = tmp_path_factory.mktemp("trust") / "checked", Noting()
    train(path, learning(), reporter)
    return path, reporter.notes


def fixed(recipe: Recipe) -> FixedTrusted:
    found = prepare(recipe).trusted
    assert isinstance(found, FixedTrusted)
    return found


def wrong_ones(recipe: Recipe) -> set[int]:
    return {i for i, task in enumerate(fixed(recipe).tasks) if task.info["mislabelled"]}


def test_checks_are_at_doubling_steps_wherever_windows_end():
    assert [s for s in range(5, 200, 5) if check_due(s - 5, s)] == [10, 20, 40, 80, 160]
    assert [s for s in range(7, 100, 7) if check_due(s - 7, s)] == [14, 21, 42, 84]
    assert not check_due(20, 20)  # a window that was skipped


def test_wrong_trusted_tasks_are_left_out_and_right_ones_are_not(checked):
    path, notes = checked
    first, second = read_run(path).trust
    assert (first.step, second.step) == (10, 20)
    assert first.check.trust.left_out == ()  # one check is not enough
    left_out, wrong = {*second.check.trust.left_out}, wrong_ones(learning())
    assert left_out <= wrong
    assert len(left_out) >= 0.7 * len(wrong)
    assert {*second.check.named} == left_out
    assert all(": " in words for words in second.check.named.values())
    ((step, note),) = notes
    assert step == 20
    assert note == second.check.sentence()
    assert f"{len(left_out)} trusted tasks of 20" in note


def test_a_task_that_is_left_out_is_trained_on_and_not_aimed_at(checked):
    path, _ = checked
    setup, trust = prepare(learning()), read_run(path).trust[-1].check.trust
    assert isinstance(setup.trusted, FixedTrusted)
    out = {id(setup.trusted.tasks[i]) for i in trust.left_out}
    aimed = lambda trust: {  # noqa: E731
        id(task)
        for n in range(60)
        for batch in setup.window(n, 2, trust)[1] or []
        for task in batch
    }
    assert not aimed(trust) & out
    assert out < aimed(ALL_TRUSTED)
    for n in range(20):
        assert all(len(batch) == 1 for batch in setup.window(n, 2, trust)[1] or [[]])
        same = setup.window(n, 2, trust)[0], setup.window(n, 2)[0]
        infos = [[task.info for batch in window for task in batch] for window in same]
        for marked, info in zip(*infos, strict=True):
            doubted = info.get("trusted") and info["index"] in trust.left_out
            assert marked == ({**info, "left_out": True} if doubted else info)


def test_evidence_by_itself_does_not_believe_wrong_trusted_tasks(tmp_path):
    """Of the tasks that a check leaves out, and of the same ones in a run without checks."""
    longer = {**LEARNING["training"], "steps": 48}
    left_out: set[int] = set()
    means = {}
    for check in (True, False):
        plain = learning("evidence", check=check).as_mapping()
        path = run(tmp_path / str(check), Recipe.of({**plain, "training": longer}))
        found = {i for one in read_run(path).trust for i in one.check.trust.left_out}
        assert bool(found) == check
        left_out |= found
        later = [line for line in records(path) if line["kind"] == "step" and line["step"] > 20]
        rows = [(w, t) for one in later for w, t in zip(one["weights"], one["tasks"], strict=True)]
        marked = [w for w, t in rows if t.get("trusted") and t["index"] in left_out]
        means[check] = sum(marked) / len(marked)
    assert left_out <= wrong_ones(learning("evidence"))
    assert means[True] < 0.5 * means[False]


def test_evidence_stays_what_it_is_however_many_trusted_tasks_are_left_out():
    recipe = learning("evidence")
    setup = prepare(recipe)
    assert isinstance(setup.trusted, FixedTrusted)
    most = Trust(left_out=tuple(range(18)))
    assert still_usable(most, setup.trusted, setup.weighter) == most
    twice = FixedTrusted([*setup.trusted.tasks[:8], *setup.trusted.tasks[:4]], 1, 0)
    assert first_trust(recipe, setup.weighter, twice) == ALL_TRUSTED


def test_auto_without_judges_checks_trusted_tasks_as_evidence_does(tmp_path):
    """It is `evidence` then, weight by weight, and its user is told the same."""
    longer = {**LEARNING["training"], "steps": 48}
    found = {}
    for weighter in ("evidence", "auto"):
        plain = learning(weighter, judges=0.0).as_mapping()
        path, reporter = tmp_path / weighter, Noting()
        train(path, Recipe.of({**plain, "training": longer}), reporter)
        lines = records(path)
        weights = [(line["step"], line["weights"]) for line in lines if line["kind"] == "step"]
        checks = [line for line in lines if line["kind"] == "trust"]
        found[weighter] = (weights, checks, reporter.notes)
    assert found["auto"] == found["evidence"]
    assert "not trusted any more" in found["auto"][2][0][1]
    (study,) = read_studies([tmp_path / "auto"])
    section = trust_section(study)
    assert section is not None
    table = section.blocks[1]
    assert isinstance(table, Table)
    left_out = found["auto"][1][-1]["trust"]["left_out"]
    assert [row[0].text for row in table.rows] == [f"{i}" for i in left_out]


@pytest.mark.parametrize("judges", [0.0, 1.0])
def test_a_race_without_judges_believes_trusted_tasks_as_its_baseline_does(judges):
    def begun(*rules: str) -> tuple[Recipe, Weighter, FixedTrusted]:
        trusted = {"count": 9, "per_batch": 1, "judges": judges}
        weighter = {"name": "race", "rules": list(rules)}
        recipe = Recipe.of({**LEARNING, "weighter": weighter, "trusted": trusted})
        setup = prepare(recipe)
        assert isinstance(setup.trusted, FixedTrusted)
        first, second, *_ = setup.trusted.tasks
        few = replace(setup.trusted, tasks=[first, first, first, first, second])
        return recipe, setup.weighter, few

    recipe, weighter, few = begun("uniform", "opus")
    assert not checks_trust(recipe, weighter)
    recipe, weighter, few = begun("evidence", "opus")
    assert checks_trust(recipe, weighter)
    assert first_trust(recipe, weighter, few) == ALL_TRUSTED, "a repetition is no wrong task"
    recipe, weighter, few = begun("opus", "uniform")
    assert checks_trust(recipe, weighter)
    trust = first_trust(recipe, weighter, few)
    assert trust.left_out == (1, 2, 3)
    assert "3 of 5 trusted tasks are wrong or repeated. The weighter is uniform" in trust.unusable


@pytest.mark.parametrize("weighter", ["trusted-only", "fine-tune", "kinds"])
def test_rules_that_train_on_trusted_tasks_do_not_on_those_that_are_left_out(
    weighter, tmp_path, monkeypatch
):
    left_out = {1, 4, 7, 10, 13}
    monkeypatch.setattr(trust_check, "doubted", lambda *_: tuple(left_out))
    path = run(tmp_path / weighter, learning(weighter))
    checks = read_run(path).trust
    assert [check.step for check in checks] == [10, 20]
    assert {*checks[-1].check.trust.left_out} == left_out
    later = [line for line in records(path) if line["kind"] == "step" and line["step"] > 20]
    rows = [(w, t) for line in later for w, t in zip(line["weights"], line["tasks"], strict=True)]
    trusted = [(w, task) for w, task in rows if task.get("trusted")]
    marked = {task["index"] for _, task in trusted if task.get("left_out")}
    assert marked == left_out & {task["index"] for _, task in trusted} == {1, 4}
    if weighter != "kinds":
        for weight, task in trusted:
            assert weight == (0.0 if task["index"] in left_out else 1.0)


def test_a_killed_run_goes_on_with_the_same_doubts(checked, tmp_path):
    path, _ = checked
    for stop in (15, 22):  # suspects, then tasks that are left out
        out = tmp_path / f"stopped{stop}"
        with pytest.raises(Killed):
            train(out, learning(), Stopping(stop, Killed))
        resume(out, Silent())
        assert outcome(out) == outcome(path)


@pytest.mark.parametrize("steps", [10, 20])
def test_a_run_that_is_made_longer_has_the_check_of_its_old_last_step(checked, steps, tmp_path):
    recipe = learning()
    short = replace(recipe, training=replace(recipe.training, steps=steps))
    run(tmp_path / "longer", short)
    resume(tmp_path / "longer", Silent(), steps=24)
    assert outcome(tmp_path / "longer") == outcome(checked[0])


def test_clean_trust_trains_as_without_a_check(tmp_path):
    clean = run(tmp_path / "clean", learning(label_noise=0.0))
    unchecked = run(tmp_path / "unchecked", learning(label_noise=0.0, check=False))
    assert not read_run(unchecked).trust
    assert [r.check.trust.left_out for r in read_run(clean).trust] == [(), ()]
    kept = [line for line in records(clean) if line["kind"] != "trust"]
    assert kept == records(unchecked)


def test_a_weighter_that_uses_no_trust_checks_none(tmp_path):
    assert not read_run(run(tmp_path / "uniform", learning("uniform"))).trust


@pytest.mark.parametrize(("weighter", "instead"), [("opus", "uniform"), ("auto", "evidence")])
def test_trusted_tasks_are_not_used_once_most_are_doubted(weighter, instead, tmp_path, monkeypatch):
    everything = tuple(range(20))
    monkeypatch.setattr(trust_check, "doubted", lambda *_: everything)
    reporter = Noting()
    train(tmp_path / "whole", learning(weighter), reporter)
    ((step, note),) = reporter.notes
    assert step == 20
    assert f"20 of 20 trusted tasks are wrong or repeated. The weighter is {instead}" in note
    lines = [line for line in records(tmp_path / "whole") if line["kind"] == "step"]
    later = [line["weights"] for line in lines if line["step"] > 20]
    assert len(later) == 4
    for weights in later:  # `evidence` drops none of these, whose labels are right, or hardly
        assert weights == pytest.approx([1 / 7] * 7, abs=1e-6 if weighter == "opus" else 0.05)
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        train(out, learning(weighter), Stopping(22, Killed))
    resume(out, Silent())
    assert outcome(out) == outcome(tmp_path / "whole")


def test_identical_trusted_tasks_count_once_and_are_not_used_if_too_few_differ():
    recipe = learning("tow-targets", label_noise=0.0)
    setup = prepare(recipe)
    tasks = list(fixed(recipe).tasks)
    twice = FixedTrusted([*tasks[:8], *tasks[:4]], 1, 0)
    trust = first_trust(recipe, setup.weighter, twice)
    assert trust == Trust(left_out=(8, 9, 10, 11))
    same = first_trust(recipe, setup.weighter, FixedTrusted(tasks[:1] * 6, 1, 0))
    assert "5 of 6 trusted tasks are wrong or repeated" in same.unusable
    assert first_trust(recipe, prepare(learning("uniform")).weighter, twice) == ALL_TRUSTED


def test_trust_is_unusable_where_too_few_targets_or_judges_are_left():
    auto = prepare(learning("auto", count=9))
    assert isinstance(auto.trusted, FixedTrusted)
    assert list(auto.trusted.judging_positions) == [6, 7, 8]
    one_left = still_usable(Trust(left_out=(7, 8)), auto.trusted, auto.weighter)
    assert "only 1 trusted task of 3 can judge. The weighter is evidence" in one_left.unusable
    assert not still_usable(Trust(left_out=(0, 8)), auto.trusted, auto.weighter).unusable
    opus = prepare(learning(count=3))
    assert isinstance(opus.trusted, FixedTrusted)
    few = still_usable(Trust(left_out=(0,)), opus.trusted, opus.weighter)
    assert not few.unusable
    two = FixedTrusted(opus.trusted.tasks[:2], 1, 0)
    assert (
        "only 1 trusted task of 2 can be aimed at"
        in still_usable(Trust(left_out=(0,)), two, opus.weighter).unusable
    )


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        (["above-chance", "trim"], "above-chance"),
        (["trim:keep=0.5", "uniform"], "trim:keep=0.5"),
        ({"mine": {"name": "above-chance"}, "uniform": {"name": "uniform"}}, "mine"),
        (["trusted-only", "trim"], "uniform"),
    ],
)
def test_users_are_told_the_name_that_the_recipe_has_for_the_rule_without_trust(rules, named):
    weighter = {"name": "race", "rules": rules}
    recipe = Recipe.of({**LEARNING, "weighter": weighter, "trusted": {"count": 9, "per_batch": 1}})
    setup = prepare(recipe)
    assert isinstance(setup.trusted, FixedTrusted)
    trust = still_usable(Trust(left_out=(7, 8)), setup.trusted, setup.weighter)
    assert f"The weighter is {named} from here on." in trust.unusable


@pytest.mark.parametrize("baseline", ["trusted-only", "opus"])
def test_a_race_whose_baseline_believes_trusted_tasks_is_uniform_without_them(baseline):
    rules = {"name": "race", "rules": [baseline, "trim"]}
    recipe = Recipe.of({**LEARNING, "weighter": rules, "trusted": {"count": 20, "per_batch": 1}})
    setup = prepare(recipe)
    assert isinstance(setup.weighter_under(Trust(unusable="They are wrong.")), Uniform)
    assert setup.weighter_under(ALL_TRUSTED) is setup.weighter
