"""`towpath demo`: a report to open, made once, and nobody else's comparison gone on with."""

import json

from tests.refusal import refused
from tests.reports.reading import Page
from tests.training.runs import tiny
from towpath.cli.main import main
from towpath.recipes.reading import read_recipe
from towpath.training.setup import prepare


def test_the_demo_leaves_a_report_and_goes_on_with_no_other_comparison(
    tmp_path, monkeypatch, capsys
):
    recipe = tiny(
        name="tiny",
        compare=["uniform", "tow-targets"],
        training={"steps": 2, "horizon": 2, "meta_batch_size": 4},
        test={"tasks": 2},
    )
    monkeypatch.setattr("towpath.recipes.reading.read_recipe", lambda name, budget: recipe)
    monkeypatch.setattr("towpath.cli.demo.available_cores", lambda: 1)
    out = tmp_path / "demo"
    words = ["demo", "--out", str(out), "--budget", "small"]
    assert main(words) == 0
    assert f"Open this in a browser: {out / 'report.html'}" in capsys.readouterr().out
    assert Page((out / "report.html").read_text()).sections[0] == "tiny-results"
    assert (out / "tasks.png").is_file()
    made = (out / "uniform-seed0" / "summary.json").read_bytes()
    assert main(words) == 0  # nothing is trained again
    assert (out / "uniform-seed0" / "summary.json").read_bytes() == made
    capsys.readouterr()
    assert main([*words, "--seeds", "0,1"]) == 2
    assert "Choose another --out" in capsys.readouterr().err
    assert json.loads((out / "comparison.json").read_text())["seeds"] == [0]


def test_seeds_that_are_none_are_refused(capsys):
    assert "--seeds is empty" in refused(["demo", "--seeds", ","], capsys)


def test_the_demo_compares_auto_for_long_enough_that_it_can_choose():
    recipe = read_recipe("demo", [("weighter.name", "auto")])
    assert {"uniform", "auto"} <= set(recipe.compare)
    setup = prepare(recipe)
    assert len(setup.judges(0)) == 7
    assert not any("all the time" in note for note in setup.notes)
    short = prepare(read_recipe("demo", [("weighter.name", "auto")], budget="small"))
    assert any("chooses at step 80 for the first time" in note for note in short.notes)
