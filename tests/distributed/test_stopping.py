"""A rank that lost the others says so, even if torchrun's SIGTERM arrives while it does."""

import os
import signal

import pytest

from towpath.cli import main as cli
from towpath.cli import reporting
from towpath.distributed.stopping import Terminated, heeding_sigterm, ignore_sigterm
from towpath.distributed.torchrun import LostRankError


@pytest.fixture
def outside():
    """The signals that arrive while nobody heeds them."""
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    yield heard
    signal.signal(signal.SIGTERM, before)


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


class Losing:
    """A command that loses the other ranks."""

    @staticmethod
    def add(commands):
        commands.add_parser("lose").set_defaults(run=Losing.run, shares_tasks=True)

    @staticmethod
    def run(arguments, console):
        with reporting.reporting(console, "run", False):
            raise LostRankError("Rank 2 of 3 lost the others")


@pytest.mark.parametrize("where", ["as the sentence is made", "as it is printed"])
def test_the_sentence_of_a_rank_that_lost_the_others_is_told(where, outside, monkeypatch, capsys):
    def signalled(module, name):
        function = getattr(module, name)

        def then(*given):
            terminate()
            return function(*given)

        monkeypatch.setattr(module, name, then)

    monkeypatch.setattr(cli, "COMMANDS", [Losing])
    if where == "as it is printed":
        signalled(cli, "one_line")
    else:
        signalled(reporting, "resuming_command")
    assert cli.main(["lose"]) == 1
    said = capsys.readouterr().err
    assert said.count("Rank 2 of 3 lost the others, then go on with: ") == 1
    assert not outside
    terminate()  # the former handler is back
    assert outside == [signal.SIGTERM]


def test_a_signal_is_raised_once_and_ignored_where_the_end_has_come(outside):
    with pytest.raises(Terminated), heeding_sigterm():
        terminate()
    with heeding_sigterm():
        ignore_sigterm()
        terminate()
    ignore_sigterm()  # nothing is heeded here, so nothing is changed
    assert not outside
    terminate()
    assert outside == [signal.SIGTERM]
