"""The index of docs/results is that of its pages, whichever of them is written again."""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from benchmarks import evidence, index, results
from benchmarks.any_shot import SHORT_FORM, rows
from benchmarks.any_shot_page import write_any_shot_page
from benchmarks.experiments import EXPERIMENTS

from towpath.cli import compare
from towpath.cli.main import main
from towpath.recipes.reading import read_recipe
from towpath.runs.comparison_spec import ComparisonSpec

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs/results").glob("*.json"))


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """A copy of the pages and of the README, as the place that is written to."""
    shutil.copytree(ROOT / "docs/results", tmp_path / "docs/results")
    shutil.copy(ROOT / "README.md", tmp_path / "README.md")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "docs/results"


def test_the_index_and_the_readme_s_table_are_those_of_the_pages(docs):
    index.index()
    assert (docs / "README.md").read_text() == (ROOT / "docs/results/README.md").read_text()
    assert Path("README.md").read_text() == (ROOT / "README.md").read_text()


def test_every_page_belongs_to_an_experiment_whose_command_it_shows():
    for file in PAGES:
        assert file.stem in EXPERIMENTS
        command = json.loads(file.read_text())["command"]
        assert command in file.with_suffix(".md").read_text()
        assert f"--out {file.stem} " in command


@pytest.fixture
def asked(monkeypatch):
    """A function from a command to the comparison that `towpath compare` would begin."""
    begun = []
    monkeypatch.setattr(
        compare,
        "begin_comparing",
        lambda *asked_for: begun.append(ComparisonSpec.new(*asked_for[:4])),
    )
    monkeypatch.setattr(compare, "go_on_comparing", lambda *_: None)

    def read(command):
        program, *words = shlex.split(command)
        assert program == "towpath"
        assert main(words) == 0
        return begun.pop()

    return read


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.stem)
def test_a_page_has_a_command_for_each_row_of_its_table(file, asked):
    """It is the page's own command, but for the baseline and one weighter, with its seeds."""
    content, text = json.loads(file.read_text()), file.with_suffix(".md").read_text()
    whole, *rows = [asked(line) for line in text.splitlines() if line.startswith("towpath ")]
    base = content["baseline"]
    seeds: dict[str, list[str]] = {label: [] for label in content["weighters"]}
    for run in content["runs"]:
        seeds[run["label"]].append(run["seed"])
    found = [([one.label for one in row.contestants], [*row.seeds]) for row in rows or [whole]]
    assert found == [([*dict.fromkeys([base, label])], own) for label, own in seeds.items()]
    assert [row.path.name for row in rows] in ([], [f"{file.stem}-{label}" for label in seeds])
    for row in rows:
        assert row.recipe == whole.recipe


def test_an_older_page_gets_its_rows_and_commits_once_and_keeps_the_rest(docs):
    file = docs / "noise-40.md"
    before = file.read_text()
    results.supplement("noise-40")
    assert file.read_text() == before
    added = before[before.index("<details>") : before.index("| weighter |")]
    assert "they came with commit 8cd143064f, 72af912af9.\n\n" in added
    assert added.endswith("(`tow:acceptance=strict` is what it was).\n\n")
    file.write_text(before.replace(added, ""))
    results.supplement("noise-40")
    assert file.read_text() == before


def test_an_older_page_says_in_what_its_command_means_something_else_today():
    """A page of today's settings says nothing."""
    said = "The same command has today:"
    clipped = (ROOT / "docs/results" / "any-shot-meta-sgd.md").read_text()
    assert f"{said} optimizer.clip_value 3.0 instead of nothing." in clipped
    assert said not in (ROOT / "docs/results" / "rivals-40.md").read_text()
    assert (
        "evidence run RUNS domain-shift" in (ROOT / "docs/results" / "domain-shift.md").read_text()
    )


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.stem)
def test_a_page_has_a_picture(file):
    """Curves and weights, or the intervals of runs that are too short for curves."""
    shown = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", file.with_suffix(".md").read_text())
    assert shown
    assert all((file.parent / name).is_file() for name in shown)


def test_every_run_has_a_commit_that_its_page_names():
    for file in PAGES:
        text = file.with_suffix(".md").read_text()
        for run in json.loads(file.read_text())["runs"]:
            assert (run.get("commit") or run["brought_by"]) in text


def test_the_readme_shows_three_settings_side_by_side_once_they_are_there(docs):
    for page in docs.glob("trust-*.json"):  # they have `auto` beside the rules
        page.unlink()
    for name in ("rivals-40", "rivals-0", "rivals-zipf"):
        content = json.loads((docs / "noise-40.json").read_text())
        if name == "rivals-zipf":
            content["weighters"].remove("exploitation")
            content["runs"] = [r for r in content["runs"] if r["label"] != "exploitation"]
        (docs / f"{name}.json").write_text(json.dumps(content))
    index.index()
    table = Path("README.md").read_text().partition(index.BEGIN)[2].partition(index.END)[0]
    rows = {row.split(" | ")[0].strip("| "): row for row in table.strip().splitlines()[2:]}
    assert list(rows) == ["uniform", "exploitation", "tow-targets", "oracle"]
    assert rows["uniform"].split(" | ")[1:] == ["73.2 ±1.1 (2)"] * 2 + ["73.2 ±1.1 (2) |"]
    assert rows["exploitation"].split(" | ")[1:] == ["+3.7 ±0.6 (2)"] * 2 + ["- |"]


def test_the_any_shot_page_puts_each_row_beside_the_papers_with_what_differs(docs):
    """A row without a page says that it was not run; what all rows differ in is told once."""
    source = json.loads((docs / "paper-any-shot.json").read_text())
    for row in rows():  # the rows that were run
        (docs / f"{row.recipe}.json").unlink(missing_ok=True)
    for name, weighters in (("any-shot-meta-sgd", ["uniform"]), ("any-shot-maml", ["uniform"])):
        recipe = read_recipe(name, [*SHORT_FORM.items(), ("training.steps", "100")])
        runs = [run for run in source["runs"] if run["label"] in weighters]
        content = {**source, "settings": recipe.as_mapping(), "weighters": weighters, "runs": runs}
        (docs / f"{name}.json").write_text(json.dumps(content))
    write_any_shot_page()
    index.index()
    assert "[any-shot-rows](any-shot-rows.md)" in (docs / "README.md").read_text()
    text = (docs / "any-shot-rows.md").read_text()
    lines = text.count("\n| ") - 1  # without the head
    assert lines == len(rows()) + 2  # a weighted row has its uniform below it
    common = next(line for line in text.splitlines() if line.startswith("What differs"))
    assert "episodes.shots any-10 instead of any" in common
    own = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in text.splitlines()}
    score = runs[0]["test"]["cub"]
    found = f"{100 * score['mean']:.1f} ±{100 * score['interval']:.1f}"
    assert own["Meta-SGD"][1:5] == ["69.95 ±0.20", own["Meta-SGD"][2], "65.94 ±0.22", found]
    assert "training.meta_batch_size 5 instead of 1" in own["Meta-SGD"][5]
    assert own["TOW-MAML"][2] == "not run"
    assert own["the same, uniform"][4] == "not run"  # the last one, TOW-Protonet's


@pytest.mark.parametrize("words", [["pages"], ["run"], ["run", "--help"], ["page", "runs"]])
def test_a_command_that_is_not_whole_is_answered_with_the_usage(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["evidence", *words])
    with pytest.raises(SystemExit, match=r"^Found .*; expected (.|\n)*evidence pages RUNS"):
        evidence.main()
    assert not list(tmp_path.iterdir())


def test_help_is_the_usage(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["evidence", "--help"])
    evidence.main()
    assert "python -m benchmarks.evidence run RUNS" in capsys.readouterr().out
