"""Races in run folders: stopped and resumed in a heat, damaged, without trusted tasks, recorded."""

import io
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from towpath.cli.progress import ConsoleReporter
from towpath.grid.compare import begin_comparison, run_comparison
from towpath.recipes.components import weighter_options
from towpath.runs.read import read_run
from towpath.runs.trust import ALL_TRUSTED, Trust
from towpath.training import Recipe, RecipeError, resume, train
from towpath.training.estimate import Estimate, estimate, training_work
from towpath.training.setup import prepare
from towpath.weighters import Race

from .forging import forge, header
from .runs import TINY, Killed, Silent, Stopping, outcome, records, run, tiny

RULES = ["uniform", "mixture:warmup=2", "exploitation", "opus", "tow-targets"]
RACE = {"name": "race", "rules": RULES, "first": 6, "spacing": 3.5, "length": 10}
RACE |= {"looks": 5, "deals": 2}
"""heats from step 6 to 16 and from step 22 to 28, in windows of two mini-batches"""
SHORT, LONGER = ({**TINY["training"], "steps": steps} for steps in (60, 180))
"""both heats end in the first half of 60 steps; of 180 a third one does, from step 74 to 80"""
TRUSTED = {"count": 9, "per_batch": 2}  # of which three judge


def raced(**sections: Any) -> Recipe:
    return Recipe.of({**TINY, "training": SHORT, "weighter": RACE, "trusted": TRUSTED, **sections})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(tmp_path_factory.mktemp("race") / "whole", raced())


def races(path: Path) -> list[dict[str, Any]]:
    return [line["plan"]["race"] for line in records(path) if line.get("plan")]


def memory_of(path: Path) -> dict[str, Any]:
    """What the race remembers in the last checkpoint."""
    found: dict[str, Any] = header(path / "checkpoints" / "last.safetensors")["weighter_state"]
    return found


def branches(path: Path) -> list[str]:
    """Names of the branch tensors that a checkpoint holds."""
    names = header(path / "checkpoints" / "last.safetensors")["checksums"]
    return [name for name in names if name.startswith("weighter.")]


def stopped(path: Path, step: int) -> Path:
    with pytest.raises(Killed):
        train(path, raced(), Stopping(step, Killed))
    return path


# the checkpoints of every sixth step: before the first heat, in it, between two, in the second
@pytest.mark.parametrize(("step", "in_a_heat"), [(8, False), (15, True), (21, False), (27, True)])
def test_a_race_that_was_killed_goes_on_to_the_bit(tmp_path, whole, step, in_a_heat):
    path = stopped(tmp_path / "run", step)
    assert bool(branches(path)) == in_a_heat
    resume(path, Silent())
    assert outcome(path) == outcome(whole)


def test_decisions_are_functions_of_the_seed_whatever_the_threads(tmp_path, whole):
    again = run(tmp_path / "again", raced(threads=2))
    assert races(again) == races(whole)
    assert outcome(again)["tensors"] == outcome(whole)["tensors"]
    other = run(tmp_path / "other", raced(seed=5))
    assert races(other) != races(whole)


def test_every_decision_is_in_the_records(whole):
    found = races(whole)
    assert len(found) == 30
    ended = [race for race in found if race.get("ended")]
    assert [found.index(race) for race in ended] == [7, 13]
    assert [race["share"] for race in ended] == [0.05, 0.05], "of the level, by four arms"
    assert len(found[5]["dropped"]) == 2, "half of the four other arms"
    for race in ended:
        for standing in race["standings"].values():
            assert standing.keys() == {"gain", "error", "judges"}
            assert standing["judges"] == 3
    judged = [race for race in found if race.get("standings")]
    assert {race["metric"] for race in judged} == {"accuracy"}
    assert all(race["leader"] == "uniform" for race in found[:7])
    read = [line.figures.race for line in read_run(whole).plans]
    assert [race.leader for race in read if race] == [race["leader"] for race in found]


def test_judges_are_asked_what_the_test_asks_unless_the_race_says_otherwise(tmp_path):
    test = {**TINY["test"], "metric": "loss"}
    short = {**TINY["training"], "steps": 16}
    asked = run(tmp_path / "asked", raced(test=test, training=short))
    assert {race["metric"] for race in races(asked) if race.get("standings")} == {"loss"}
    own = prepare(raced(test=test, weighter={**RACE, "metric": "accuracy"}))
    assert isinstance(own.weighter, Race)
    assert own.weighter.metric == "accuracy"
    with pytest.raises(RecipeError, match=r"weighter\.metric is 'rmse', which tasks of .* classes"):
        prepare(raced(weighter={**RACE, "metric": "rmse"}))


def test_work_counts_losing_arms_and_judges(whole):
    plans = [line["plan"]["evaluations"] for line in records(whole) if line.get("plan")]
    assert plans[:3] == [2.0] * 3
    assert all(counted > 2 * 5 for counted in plans[3:5]), "five arms, and judges"


def test_config_yaml_holds_the_race_that_was_resolved(whole):
    written = yaml.safe_load((whole / "config.yaml").read_text())["weighter"]
    assert list(written["rules"]) == RULES
    assert written["rules"]["mixture:warmup=2"] == {"name": "mixture", "window": 200, "warmup": 2}
    assert written["level"] == 0.2
    assert weighter_options(Recipe.of({**TINY, "weighter": written}).weighter) == {
        key: value for key, value in written.items() if key != "name"
    }


def a_branch(tensors: dict[str, Any]) -> str:
    return next(n for n in tensors if n.startswith("weighter.") and n.endswith("/x"))


def damage_a_branch(path: Path) -> None:
    """Change one byte of a branch's tensor and leave its checksum."""
    checksums = header(path)["checksums"]
    forge(
        path,
        lambda meta: meta.update(checksums=checksums),
        lambda tensors: tensors[a_branch(tensors)].add_(1.0),
    )


def lose_a_branch(path: Path) -> None:
    checksums = header(path)["checksums"]
    forge(
        path,
        lambda meta: meta.update(checksums=checksums),
        lambda tensors: tensors.pop(a_branch(tensors)),
    )


@pytest.mark.parametrize("damage", [damage_a_branch, lose_a_branch])
def test_a_damaged_branch_falls_back_to_the_checkpoint_before(tmp_path, whole, caplog, damage):
    path = stopped(tmp_path / "run", 15)
    damage(path / "checkpoints" / "last.safetensors")
    resume(path, Silent())
    assert "last.safetensors is damaged" in caplog.text
    assert outcome(path) == outcome(whole)


def test_a_damaged_branch_everywhere_is_refused_in_a_sentence(tmp_path):
    path = stopped(tmp_path / "run", 15)
    (path / "checkpoints" / "previous.safetensors").unlink()
    lose_a_branch(path / "checkpoints" / "last.safetensors")
    with pytest.raises(RecipeError, match=r"Every checkpoint in .* is damaged"):
        resume(path, Silent())


def test_a_forged_checkpoint_without_a_branch_is_refused_in_a_sentence(tmp_path):
    path = stopped(tmp_path / "run", 15)
    forge(
        path / "checkpoints" / "last.safetensors",
        change_tensors=lambda tensors: tensors.pop(a_branch(tensors)),
    )
    before = (path / "records.jsonl").read_bytes()
    with pytest.raises(ValueError, match=r"the tensor [\w:=-]+/x is missing"):
        resume(path, Silent())
    assert before.startswith((path / "records.jsonl").read_bytes())


@pytest.mark.parametrize(
    "memories",
    [
        {"mixture:warmup=2": {"step": 6, "rule": {"losses": "many"}}},
        {"mixture:warmup=2": {"step": 6}},
        {"mixture:warmup=2": 3},
        3,
    ],
    ids=str,
)
def test_a_forged_memory_of_a_rule_in_a_race_is_refused_in_a_sentence(tmp_path, memories):
    path = stopped(tmp_path / "run", 8)

    def change(meta: dict[str, Any]) -> None:
        meta["weighter_state"]["rules"] = memories

    forge(path / "checkpoints" / "last.safetensors", change)
    with pytest.raises(RecipeError, match="expected what the weighter of this run's recipe"):
        resume(path, Silent())


@pytest.mark.parametrize("name", ["auto", "race"])
def test_without_trusted_tasks_a_race_is_uniform_and_says_so_once(tmp_path, name):
    short = {"steps": 8, "horizon": 2, "meta_batch_size": 2}
    nothing = {"trusted": {"count": 0}, "training": short}
    said = io.StringIO()
    train(tmp_path / name, tiny(name, **nothing), ConsoleReporter(Console(file=said, width=500)))
    plain = run(tmp_path / "plain", tiny("uniform", **nothing))
    assert outcome(tmp_path / name)["evaluations"] == outcome(plain)["evaluations"]
    assert said.getvalue().count("without trusted tasks nothing can be judged") == 1
    assert f"The weighter '{name}' found trusted.count 0" in said.getvalue()


def test_with_one_judge_a_race_is_uniform_and_says_so():
    few = prepare(tiny("auto"))  # a third of three trusted tasks
    assert isinstance(few.weighter, Race)
    (note,) = few.notes
    assert "1 of 3 trusted tasks to judge by" in note
    assert not any("to judge by" in note for note in prepare(raced()).notes)


def test_a_run_that_ends_before_its_first_heat_does_is_its_baseline_and_says_so(tmp_path):
    def training(steps: int) -> Recipe:
        return raced(training={"steps": steps, "horizon": 3, "meta_batch_size": 2})

    # a heat of 10 mini-batches from step 6 on; the last window of a run may be shorter than three
    short, said = training(15), io.StringIO()
    train(tmp_path / "short", short, ConsoleReporter(Console(file=said, width=500)))
    assert {race["leader"] for race in races(tmp_path / "short")} == {"uniform"}
    assert not any(race.get("ended") for race in races(tmp_path / "short"))
    told = (
        "The weighter 'race' chooses at step 16 for the first time, at the end of a heat of its "
        "rules, and training.steps is 15: it is uniform all the time. Set training.steps to at "
        "least 16, or lower weighter.first and weighter.length."
    )
    assert said.getvalue().count(told) == 1
    assert not any("for the first time" in note for note in prepare(training(16)).notes)
    assert races(run(tmp_path / "enough", training(16)))[-1]["ended"]
    auto = raced(weighter={"name": "auto"}, training={"steps": 79, "horizon": 5})
    assert any("'auto' chooses at step 80 for the" in note for note in prepare(auto).notes)


@pytest.mark.parametrize("baseline", ["opus", "trusted-only"])
def test_a_race_without_trusted_tasks_is_refused_if_its_baseline_needs_them(baseline):
    weighter = {"name": "race", "rules": [baseline, "uniform"]}
    with pytest.raises(RecipeError, match=r"found trusted\.count 0; expected at least"):
        prepare(raced(weighter=weighter, trusted={"count": 0}))


def test_the_terminal_says_who_leads_at_the_end_of_a_heat(tmp_path, whole):
    said = io.StringIO()
    reporter = ConsoleReporter(Console(file=said, width=500))
    train(tmp_path / "run", raced(), reporter)
    lines = [line for line in said.getvalue().splitlines() if "lead" in line]
    ends = [race for race in races(whole) if race.get("ended")]
    assert len(lines) == len(ends) == 2
    for line, step, race in zip(lines, (16, 28), ends, strict=True):
        assert line.startswith(f"step {step}: {race['leader']} ")
        assert "points on 3 judges, t = " in line


def test_the_estimate_knows_the_heats():
    setup = prepare(raced())
    whole_run, after_the_heats = estimate(setup, 60), estimate(setup, 6)
    assert whole_run.overhead > 1.5 > after_the_heats.overhead
    assert whole_run.training_seconds == pytest.approx(60 * whole_run.seconds_per_step)


class Expecting(Silent):
    """Keeps the estimate that it is told."""

    def expected(self, cost: Estimate) -> None:
        self.cost = cost


def test_the_estimate_of_a_longer_race_has_no_heat_that_nothing_can_judge(tmp_path, whole):
    # the third heat would be from step 74 to 80, and uniform weights lead
    path, reporter = tmp_path / "longer", Expecting()
    shutil.copytree(whole, path)
    resume(path, reporter, steps=180)
    assert {race["leader"] for race in races(path)[30:]} == {"uniform"}
    assert reporter.cost.overhead == pytest.approx(1.0)


def test_the_estimate_counts_the_heats_that_will_be_run():
    def beside(steps: int, last: int, trust: Trust = ALL_TRUSTED, **sections: Any) -> float:
        """What a race adds to the last steps of a run, in mini-batches evaluated."""
        training = {**TINY["training"], "steps": steps}
        work = training_work(prepare(raced(training=training, **sections)), last, trust)
        return work.evaluations + work.forwards - last

    assert beside(60, 54) > beside(60, 44) > 0
    assert beside(60, 32) == pytest.approx(0.0)
    assert beside(50, 34) == pytest.approx(0.0), "a later heat that ends in the second half"
    assert beside(24, 4) == pytest.approx(0.0), "a heat that the run is too short for"
    assert beside(60, 54, trusted={"count": 3, "per_batch": 2}) == pytest.approx(0.0), "one judge"
    assert beside(60, 54, Trust(unusable="All are wrong.")) == pytest.approx(0.0)


def test_races_are_compared_with_others_and_found_again(tmp_path):
    training = {"steps": 4, "horizon": 2, "meta_batch_size": 2}
    recipe = raced(training=training)
    words = ["uniform", "auto", "race", "auto:length=20"]
    begin_comparison(tmp_path / "c", recipe, words, [0])
    first = run_comparison(tmp_path / "c", Silent())
    assert [one.label for one in first.runs] == ["uniform", "auto", "race", "auto_length=20"]
    shutil.rmtree(tmp_path / "c" / "race-seed0")
    again = run_comparison(tmp_path / "c", Silent())
    assert [one.summary.test for one in again.runs] == [one.summary.test for one in first.runs]


class Noting(Silent):
    """Keeps what it is told beside the progress."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def noted(self, step: int, note: str) -> None:
        self.notes.append(f"{step}: {note}")


def test_a_longer_race_is_not_judged_by_tasks_that_it_trained_on_and_says_so(tmp_path, whole):
    # heats end at steps 16 and 28; the third one would be from step 74 to 80
    for steps, told in ((80, False), (180, True)):
        path, reporter = tmp_path / str(steps), Noting()
        shutil.copytree(whole, path)
        resume(path, reporter, steps=steps)
        found = [note for note in reporter.notes if "no further heat is run" in note]
        assert bool(found) == told
        assert not told or "were trained on from step 30 on" in found[0]
        later = races(path)[30:]
        assert len(later) == (steps - 60) // 2
        assert {race["leader"] for race in later} == {races(whole)[-1]["leader"]}
        assert not any("standings" in race for race in later)
        assert memory_of(path)["heats"] == 2
    out = tmp_path / "stopped"
    shutil.copytree(whole, out)
    with pytest.raises(Killed):
        resume(out, Stopping(75, Killed), steps=180)
    resume(out, Silent())
    assert outcome(out) == outcome(tmp_path / "180")


def test_a_race_that_is_made_longer_before_its_judges_are_trained_on_is_judged_by_them(tmp_path):
    path, reporter = stopped(tmp_path / "early", 20), Noting()
    resume(path, reporter, steps=180)
    assert not reporter.notes
    assert outcome(path) == outcome(run(tmp_path / "whole", raced(training=LONGER)))
    assert memory_of(path)["heats"] == 3
