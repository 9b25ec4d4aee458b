"""`towpath recipes`: what is shipped is listed, shown as it is, and copied once."""

import json
from pathlib import Path

import pytest

from tests.refusal import refused
from towpath.cli.main import main
from towpath.weighters import WEIGHTERS


def test_recipes_are_listed_shown_and_copied(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["recipes", "list"]) == 0
    assert "omniglot-protonet" in capsys.readouterr().out
    assert main(["recipes", "show", "demo"]) == 0
    shown = capsys.readouterr().out
    assert main(["recipes", "copy", "demo", "--out", "mine.yaml"]) == 0
    assert Path("mine.yaml").read_text() == shown
    assert main(["recipes", "copy", "demo", "--out", "mine.yaml"]) == 2


def test_the_fields_of_a_section_or_of_a_component_are_told(capsys):
    assert main(["recipes", "fields", "training"]) == 0
    shown = capsys.readouterr().out
    assert "training.meta_batch_size" in shown
    assert "validation.every" not in shown
    assert main(["recipes", "fields", "maml"]) == 0
    shown = capsys.readouterr().out
    assert "number of inner steps" in " ".join(shown.replace("│", " ").split())
    assert "training.steps" not in shown


@pytest.mark.parametrize("name", WEIGHTERS)
def test_the_fields_of_every_weighter_are_told(name, capsys):
    assert main(["recipes", "fields", name]) == 0
    told = capsys.readouterr().out
    assert f"weighter: {name}" in told or f"{name} has no options" in told


def test_a_preset_has_all_options_of_its_class_with_its_own_defaults(capsys):
    assert main(["recipes", "fields", "auto", "--json"]) == 0
    auto = json.loads(capsys.readouterr().out)["fields"]
    assert {"weighter.rules", "weighter.looks"} <= {one["name"] for one in auto}
    assert main(["recipes", "fields", "tow-auto", "--json"]) == 0
    own = {one["name"]: one for one in json.loads(capsys.readouterr().out)["fields"]}
    assert own["weighter.beta"]["default"] == "auto"
    assert "weighter.iterations" in own


def test_fields_of_nothing_are_refused_with_the_nearest_section(capsys):
    assert "Did you mean 'training'?" in refused(["recipes", "fields", "trainig"], capsys)


def test_all_fields_as_markdown_are_the_page_of_the_docs(capsys):
    assert main(["recipes", "fields", "--markdown"]) == 0
    page = Path(__file__).parents[2] / "docs" / "recipe-fields.md"
    assert capsys.readouterr().out in page.read_text(encoding="utf-8")
