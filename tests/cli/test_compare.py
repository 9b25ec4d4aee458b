"""`towpath compare` and `towpath resume` of what it left."""

import json
from pathlib import Path

from tests.refusal import refused
from towpath.cli.main import main


def test_what_cannot_be_compared_is_refused_and_leaves_nothing(here, capsys):
    compare = ["compare", "tiny.yaml", "--out", "both"]
    assert "found no weighter" in refused([*compare, "--weighters", ","], capsys)
    assert "found no seed" in refused([*compare, "--weighters", "tow", "--seeds", ","], capsys)
    assert "Did you mean 'referee'?" in refused([*compare, "--weighters", "referees"], capsys)
    said = refused([*compare, "--weighters", "tow", "--engine", "rey"], capsys)
    assert "Did you mean 'ray'?" in said
    said = refused([*compare, "--weighters", "tow", "--seeds", "-1"], capsys)
    assert "seed is -1; expected a whole number of at least 0" in said
    assert not Path("both").exists()


def test_the_recipes_own_weighters_are_compared_and_a_finished_one_is_left(here, capsys):
    recipe = Path("tiny.yaml").read_text() + "compare: [uniform, random]\n"
    Path("tiny.yaml").write_text(recipe)
    assert main(["compare", "tiny.yaml", "--out", "both"]) == 0
    result = json.loads(Path("both/comparison.json").read_text())
    assert result["weighters"] == ["uniform", "random"]
    made = Path("both/random-seed0/summary.json").read_bytes()
    assert main(["resume", "both"]) == 0
    assert Path("both/random-seed0/summary.json").read_bytes() == made
    capsys.readouterr()
    assert "--logger found the comparison" in refused(["resume", "both", "--tensorboard"], capsys)
