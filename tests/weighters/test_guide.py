"""Every weighter has a card; the command that prints them."""

import pytest

from towpath.cli.main import main
from towpath.weighters import WEIGHTERS
from towpath.weighters.guide import factorial_table


@pytest.mark.parametrize("name", WEIGHTERS)
def test_a_card_says_something_on_every_line(name):
    card = WEIGHTERS[name].card
    for text in (card.formula, card.assumes, card.costs, card.fails):
        assert text.strip()
        assert "\n" not in text
        # a bare bar would end the cell of a table
        assert text.count("|") == text.count("\\|")
    if name not in ("uniform",):
        assert card.reference


def test_the_factorial_view_holds_the_points_that_a_reader_will_look_for():
    names = [line.split("|")[1].strip() for line in factorial_table().splitlines()[2:]]
    assert {"l2rw", "opus", "pds", "tow-targets"} <= set(names)


def test_the_command_lists_and_shows_them(capsys):
    assert main(["weighters", "list"]) == 0
    listed = capsys.readouterr().out
    for name in WEIGHTERS:
        assert name in listed
    assert main(["weighters", "show", "mwl-maml"]) == 0
    shown = capsys.readouterr().out
    assert "reconstructed" in shown
    assert "rounds=3" in shown
    assert main(["weighters", "show", "mixtur"]) == 2
    assert "Did you mean 'mixture'?" in capsys.readouterr().err
