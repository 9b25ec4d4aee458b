"""`towpath weighters`: the cards of all, and of one with its options."""

import json

from tests.refusal import refused
from towpath.cli.main import main
from towpath.weighters import WEIGHTERS


def test_all_weighters_are_listed(capsys):
    assert main(["weighters", "list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in WEIGHTERS)


def test_one_weighter_is_shown_with_its_options(capsys):
    assert main(["weighters", "show", "tow-auto"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "beta='auto'" in shown
    assert "Plans the weights of a window" in shown
    assert "Did you mean 'tow-auto'?" in refused(["weighters", "show", "tow-autos"], capsys)


def test_the_options_of_a_preset_as_json_are_its_own(capsys):
    assert main(["weighters", "show", "tow-auto", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["options"]["beta"] == "auto"
    assert found["options"]["iterations"] == 2
    assert found["wants_targets"] is False
    assert "`" not in found["formula"]
