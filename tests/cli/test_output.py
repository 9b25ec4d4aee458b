"""`--quiet` prints nothing but errors; `--json` one document on stdout and nothing else."""

import json

import pytest

from towpath.cli.main import main
from towpath.cli.output import print_json


def test_a_quiet_run_says_nothing_and_is_the_same_run(here, capsys):
    assert main(["train", "tiny.yaml", "--quiet", "--out", "run"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (here / "run" / "summary.json").is_file()
    assert main(["resume", "run", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_quiet_comparison_says_nothing(here, capsys):
    assert main(["compare", "tiny.yaml", "--weighters", "uniform,tow", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_errors_are_told_quietly_or_not(here, capsys):
    assert main(["train", "tiny.yaml", "--quiet", "--training.steps", "0"]) == 2
    assert "training.steps" in capsys.readouterr().err


def test_a_run_as_json_is_its_summary_with_progress_beside_it(here, capsys):
    assert main(["train", "tiny.yaml", "--json", "--out", "run"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert found.pop("folder") == "run"
    assert found == json.loads((here / "run" / "summary.json").read_text())
    assert "step 4/4" in shown.err
    for words in (["resume", "run"], ["resume", "run", "--quiet"]):
        assert main([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["test"] == found["test"]


def test_a_comparison_as_json_is_its_file(here, capsys):
    words = ["compare", "tiny.yaml", "--weighters", "uniform,tow", "--json", "--quiet"]
    assert main([*words, "--out", "both"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    found = json.loads(shown.out)
    assert found.pop("folder") == "both"
    assert found == json.loads((here / "both" / "comparison.json").read_text())
    assert main(["resume", "both", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["weighters"] == ["uniform", "tow"]


LISTS = {
    "recipes list": "demo",
    "recipes show quick": "training",
    "recipes fields": "fields",
    "recipes fields training": "fields",
    "weighters list": "tow-targets",
    "weighters show tow": "options",
    "data list": "sets",
}


@pytest.mark.parametrize("words", LISTS)
def test_what_is_listed_is_one_document(words, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TOWPATH_DATA", str(tmp_path))
    assert main([*words.split(), "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert LISTS[words] in json.loads(shown.out)


def test_figures_that_json_does_not_know_and_foreign_letters_can_be_printed(capsys):
    print_json({"name": "Ελληνικά", "undefined": float("nan")})
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert json.loads(shown) == {"name": "Ελληνικά", "undefined": None}


@pytest.mark.usefixtures("torchrun")
def test_the_second_rank_prints_no_document(capsys):
    print_json({})
    assert capsys.readouterr().out == ""
