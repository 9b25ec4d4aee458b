"""Pages of results gather runs: those of several machines stand beside each other as of one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import checkout, evidence, gathering, results, worklist, written
from benchmarks.experiments import EXPERIMENTS, Experiment

from towpath.runs.comparing import compared

NAME = "trust-20"  # any experiment: its command is replaced by one of seconds
TINY = {
    "episodes.query": "3",
    "episodes.label_noise": "0.4",
    "validation.tasks": "4",
    "validation.every": "4",
}


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """An experiment of four steps, and an empty docs/results."""
    monkeypatch.chdir(tmp_path)
    Path("docs/results").mkdir(parents=True)
    experiment = Experiment(
        "quick", "uniform,exploitation,trim", 4, "a trial", "0,1", TINY, tests=8
    )
    monkeypatch.setitem(EXPERIMENTS, NAME, experiment)
    monkeypatch.setattr(checkout, "_git", lambda *_: pytest.fail("no run is pinned here"))
    return tmp_path


def content():
    return json.loads(Path(f"docs/results/{NAME}.json").read_text())


def run(folder, *lines):
    worklist.work_off(Path(folder), lines)


def gather(folder):
    gathering.gather(gathering.Finished(Path(folder), NAME))


def test_runs_of_two_places_give_the_figures_of_one(tiny):
    run("one", f"{NAME} uniform,exploitation 0")
    run("other", f"{NAME} uniform,exploitation 1")
    run("both", f"{NAME} uniform,exploitation 0,1")
    gather("one")
    assert content()["seeds"] == [0]
    gather("other")
    found = content()
    assert found["seeds"] == [0, 1]
    assert [(r["label"], r["seed"]) for r in found["runs"]] == [
        (label, seed) for label in ("uniform", "exploitation") for seed in (0, 1)
    ]
    expected = compared(Path("both") / NAME).differences["exploitation"]
    for test, difference in expected.items():
        own = found["differences"]["exploitation"][test]
        assert own["mean"] == pytest.approx(difference.pooled.mean, abs=1e-5)
        assert own["interval"] == pytest.approx(difference.pooled.interval, abs=1e-4)
        for seed, one in difference.seeds.items():
            assert own["seeds"][str(seed)]["mean"] == pytest.approx(one.mean, abs=1e-5)
            assert own["seeds"][str(seed)]["p_value"] == pytest.approx(one.p_value, abs=1e-3)


def test_runs_of_another_page_of_the_same_settings_count_with_the_differences_that_it_has(
    tiny, monkeypatch
):
    run("one", f"{NAME} uniform,exploitation 0")
    gather("one")
    other = content()
    for entry in other["runs"]:
        del entry["values"]  # as pages had them before runs were gathered
    Path("docs/results/older.json").write_text(json.dumps(other))
    Path(f"docs/results/{NAME}.json").unlink()
    monkeypatch.setitem(EXPERIMENTS, NAME, replace(EXPERIMENTS[NAME], also="older"))
    run("two", f"{NAME} uniform,exploitation 1")
    gather("two")
    found = content()
    assert [(r["label"], r["seed"]) for r in found["runs"]] == [
        (label, seed) for label in ("uniform", "exploitation") for seed in (0, 1)
    ]
    gathering.adopt(NAME)
    assert content() == found, "what was counted once is not counted again"
    for test, one in found["differences"]["exploitation"].items():
        known = other["differences"]["exploitation"][test]["seeds"]["0"]
        assert one["seeds"]["0"] == known
        assert set(one["seeds"]) == {"0", "1"}


def test_differences_of_a_page_stand_for_runs_whose_scores_were_not_kept(tiny):
    run("one", f"{NAME} uniform,exploitation 0")
    gather("one")
    file = Path(f"docs/results/{NAME}.json")
    older = content()
    for entry in older["runs"]:
        del entry["values"]
    file.write_text(json.dumps(older))
    run("other", f"{NAME} uniform,exploitation,trim 1")
    gather("other")
    found = content()
    assert found["seeds"] == [0, 1]
    for test, difference in found["differences"]["exploitation"].items():
        before = older["differences"]["exploitation"][test]["seeds"]["0"]
        assert difference["seeds"]["0"] == before
        both = [before, difference["seeds"]["1"]]
        assert difference["mean"] == pytest.approx(sum(one["mean"] for one in both) / 2)
        assert difference["interval"] == pytest.approx(sum(one["interval"] for one in both) / 2)
        assert list(found["differences"]["trim"][test]["seeds"]) == ["1"]


def test_the_page_says_what_it_has_and_what_nobody_has_run(tiny):
    run("one", f"{NAME} uniform,exploitation 0", f"{NAME} exploitation 1")
    Path("one/commit").write_text("0123456789abcdef\n")
    gather("one")
    results.draw(gathering.Finished(Path("one"), NAME))
    results.page(NAME)
    text = Path(f"docs/results/{NAME}.md").read_text()
    assert "Asked for and not run yet: uniform (seeds 1), trim." in text
    assert "commit 0123456789." in text
    assert f"![curves]({NAME}-curves.png)" in text
    assert Path(f"docs/results/{NAME}-curves.png").is_file()
    (uniform,) = (line for line in text.splitlines() if line.startswith("| uniform | "))
    (exploitation,) = (line for line in text.splitlines() if line.startswith("| exploitation | "))
    assert uniform.endswith("| 1 |")
    assert exploitation.endswith("| 2 |")  # of which one has a partner to be paired with


def test_runs_of_other_settings_are_not_mixed_with_new_ones(tiny, monkeypatch):
    run("one", f"{NAME} uniform,exploitation 0")
    gather("one")
    before = content()
    changed = Experiment("quick", "uniform", 6, "a trial", "1", TINY, tests=8)
    monkeypatch.setitem(EXPERIMENTS, NAME, changed)
    with pytest.raises(SystemExit, match="other settings than the command"):
        gather("one")
    run("other", f"{NAME} uniform 1")
    with pytest.raises(SystemExit, match="2 runs of other settings than the new ones"):
        gather("other")
    assert content() == before


def test_a_field_that_recipes_have_got_since_does_not_part_runs(tiny):
    run("one", f"{NAME} uniform,exploitation 0")
    gather("one")
    older = content()
    del older["settings"]["episodes"]["flip_part"]
    Path(f"docs/results/{NAME}.json").write_text(json.dumps(older))
    run("other", f"{NAME} uniform,exploitation 1")
    gather("other")
    assert content()["seeds"] == [0, 1]


def test_pages_leave_the_comparison_as_it_was_begun(tiny):
    run("one", f"{NAME} uniform 0")
    spec = Path("one") / NAME / "comparison.yaml"
    before = spec.read_text()
    gather("one")
    assert spec.read_text() == before


def test_a_finished_run_is_not_run_again_and_only_what_is_asked_for_is(tiny, capsys):
    run("one", f"{NAME} uniform 0")
    assert capsys.readouterr().out.splitlines() == [f"{NAME}/uniform-seed0: done"]
    run("one", f"{NAME} uniform 0,1")
    assert capsys.readouterr().out.splitlines() == [f"{NAME}/uniform-seed1: done"]
    for wrong, reason in (("oracle 0", "oracle-seed0; expected"), ("uniform", "EXPERIMENT")):
        with pytest.raises(SystemExit, match=reason):
            run("one", f"{NAME} uniform 0", f"{NAME} {wrong}")


def test_a_run_that_another_process_works_on_is_passed_over(tiny, capsys):
    run("one", f"{NAME} uniform 0")
    with worklist.claim(Path("one") / worklist.CLAIMS / NAME / "uniform-seed1"):
        run("one", f"{NAME} uniform,exploitation 1")
    done = capsys.readouterr().out.splitlines()
    assert done == [f"{NAME}/uniform-seed0: done", f"{NAME}/exploitation-seed1: done"]


def test_one_command_writes_the_pages_of_what_is_finished(tiny, monkeypatch):
    monkeypatch.setattr(evidence, "write_any_shot_page", lambda: None)
    monkeypatch.setattr(evidence, "write_trust_page", lambda: None)
    run("one", f"{NAME} uniform,trim 0")
    evidence.write(Path("one"), [NAME])
    assert written.Written(NAME).runs["trim"][0]["seed"] == 0
    assert f"[{NAME}]({NAME}.md)" in Path("docs/results/README.md").read_text()


def test_a_folder_of_runs_belongs_to_one_commit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"],
    ):
        assert checkout._git(*words).returncode == 0
    runs = tmp_path / "runs"
    checkout.pin(runs)
    checkout.pin(runs)
    assert checkout._git("rev-parse", "HEAD").stdout.startswith(checkout.commit_of(runs))
    Path("src").mkdir()
    Path("src/new.py").write_text("x = 1\n")
    with pytest.raises(SystemExit, match="not committed"):
        checkout.pin(tmp_path / "others")
    checkout._git("add", "src")
    with pytest.raises(SystemExit, match="was begun with commit"):
        checkout.pin(runs)
