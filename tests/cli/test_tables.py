"""The commands that work on runs work on those of a table, and speak of rows."""

import re
from pathlib import Path

import pytest
import yaml

from tests.training.tables import assays, write_assays
from towpath.cli.main import main


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A comparison of two weighters on a table, of one seed."""
    folder = tmp_path_factory.mktemp("table")
    listed = {"validation": ["ENZ_5"], "test": ["TOX_4", "TOX_5"], "trusted": ["TOX_0"]}
    recipe = assays(
        write_assays(folder / "assays.csv"), data={"splits": listed}, trusted={"count": 3}
    )
    (folder / "assays.yaml").write_text(yaml.safe_dump(recipe.as_mapping()))
    compared = ["compare", str(folder / "assays.yaml"), "--weighters", "uniform,tow-targets"]
    assert main([*compared, "--out", str(folder / "runs")]) == 0
    return folder


def test_a_comparison_on_a_table_has_a_report(place, capsys):
    page = place / "report.html"
    assert main(["report", str(place / "runs"), "--out", str(page)]) == 0
    text = re.sub(r"<style.*?</style>|<svg.*?</svg>", "", page.read_text(), flags=re.DOTALL)
    words = re.sub(r"<[^>]+>", " ", text)
    assert "TOX_0" in words or "ENZ_" in words  # tasks by the names of their columns
    assert not re.findall(r"[^.]*\bimages?\b[^.]*", words)


def test_a_run_on_a_table_is_evaluated_audited_and_resumed(place, capsys):
    steered = str(place / "runs" / "tow-targets-seed0")
    assert main(["evaluate", steered, "--tasks", "3"]) == 0
    assert main(["resume", steered]) == 0
    listing = place / "to-check.csv"
    assert main(["audit", steered, "--rows", "3", "--csv", str(listing)]) == 0
    said = capsys.readouterr().out
    assert "ENZ_" in said
    assert "image" not in said
    assert Path(steered, "audit.html").stat().st_size > 1000
    assert re.search(r"C\d\d\d; C\d\d\d", listing.read_text())


def test_the_cost_of_a_table_recipe_is_estimated(place, capsys):
    assert main(["bench", "--recipe", str(place / "assays.yaml")]) == 0
    assert "a step" in capsys.readouterr().out


def test_what_was_left_out_is_told_when_training_begins(place, capsys):
    words = ["train", str(place / "assays.yaml"), "--episodes.query", "32"]
    assert main([*words, "--out", str(place / "few")]) == 0
    assert re.search(r"2 of 14 train tasks have fewer rows", capsys.readouterr().out)


def test_how_the_table_was_read_is_told_once_when_training_begins(tmp_path, capsys):
    table = write_assays(tmp_path / "assays.csv")
    lines = table.read_text().splitlines()
    lines = [f"{line},{'same' if i == 0 else 1}" for i, line in enumerate(lines)]
    table.write_text("\n".join(lines))
    (tmp_path / "assays.yaml").write_text(yaml.safe_dump(assays(table).as_mapping()))
    words = ["train", str(tmp_path / "assays.yaml"), "--training.steps", "2"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert said.count("left out 1 of 19 tasks (one class only): 'same'") == 1
    assert said.count("tasks a split: train") == 1


def test_too_large_a_window_is_refused_in_rows(place, capsys):
    words = ["train", str(place / "assays.yaml"), "--out", str(place / "large")]
    huge = ["--training.meta_batch_size", "100000", "--training.horizon", "10000"]
    assert main([*words, *huge, "--episodes.query", "20"]) == 2
    assert "ways x 23 rows needs at least" in capsys.readouterr().err


def test_a_preview_by_a_recipe_shows_the_division_that_it_trains_on(place, capsys, monkeypatch):
    monkeypatch.chdir(place)
    words = ["data", "preview", "assays.csv", "--recipe", "assays.yaml", "--out", "preview"]
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "train 14, validation 1, test 2, trusted 1 (as listed)" in said
    # what is given on the command line wins
    assert main([*words, "--data.splits.validation", "[ENZ_4, ENZ_5]"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "train 13, validation 2, test 2, trusted 1 (as listed)" in said
    assert "ENZ_4" in Path("preview", "assays.html").read_text()


def test_a_recipe_on_another_table_keeps_its_options_in_a_preview(place, capsys):
    other = write_assays(place / "other.csv")
    words = ["data", "preview", str(other), "--recipe", str(place / "assays.yaml")]
    assert main([*words, "--out", str(place / "other")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "train 14, validation 1, test 2, trusted 1 (as listed)" in said
