"""The cards of `race` and `auto`, which are one class."""

from towpath.cli.main import main
from towpath.weighters import WEIGHTERS
from towpath.weighters.race.cards import AUTO, RACE
from towpath.weighters.race.lineup import line_up


def test_race_and_auto_have_cards_of_their_own():
    assert WEIGHTERS["race"].card is RACE
    assert WEIGHTERS["auto"].card is AUTO
    assert RACE.formula != AUTO.formula
    for name in line_up():
        assert name in AUTO.formula


def test_the_command_shows_both(capsys):
    for name in ("race", "auto"):
        assert main(["weighters", "show", name]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "level=0.2" in said
        assert "wants targets: yes" in said
