"""`towpath audit` as a command; what it counts is tested beside the reports."""

import pytest

from tests.refusal import refused
from towpath.cli.main import main


@pytest.mark.parametrize("option", ["--last", "--rows"])
def test_numbers_below_one_are_refused(done, capsys, option):
    said = refused(["audit", str(done), option, "0"], capsys)
    assert f"{option} is 0; expected at least 1." in said
    assert "None" not in said


def test_an_unknown_thing_to_judge_by_is_refused(done, capsys):
    said = refused(["audit", str(done), "--by", "lossess"], capsys)
    assert "expected one of weights, losses, auto. Did you mean 'losses'?" in said


def test_a_uniform_run_is_judged_by_its_losses(done, tmp_path, capsys):
    assert main(["audit", str(done), "--out", str(tmp_path / "audit.html")]) == 0
    text = capsys.readouterr().out
    assert "All weights are equal, which says nothing, so that losses are judged." in text
    assert "loss / mean" in text
    assert "weight / mean" not in text


def test_a_page_that_is_not_ours_is_not_replaced(done, tmp_path, capsys):
    out = tmp_path / "mine.html"
    out.write_text("mine")
    refused(["audit", str(done), "--out", str(out)], capsys)
    assert out.read_text() == "mine"


def test_the_list_that_is_in_the_way_is_named_by_its_own_option(done, tmp_path, capsys):
    mine = tmp_path / "mine.csv"
    mine.write_text("mine")
    words = ["audit", str(done), "--out", str(tmp_path / "audit.html"), "--csv", str(mine)]
    said = refused(words, capsys)
    assert "Choose another --csv, or replace it with --force" in said
    assert "--out" not in said


def test_the_average_that_verdicts_compare_with_is_shown(done, tmp_path, capsys):
    assert main(["audit", str(done), "--out", str(tmp_path / "audit.html")]) == 0
    assert "The average task has 1." in capsys.readouterr().out
