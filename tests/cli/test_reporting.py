"""A command that is stopped says how to go on."""

import os

import pytest
from rich.console import Console

from towpath.cli.reporting import reporting
from towpath.distributed.stopping import Terminated
from towpath.distributed.torchrun import LostRankError


@pytest.fixture
def console():
    with open(os.devnull, "w") as nowhere:
        yield Console(file=nowhere)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyboardInterrupt(), "Interrupted; go on with: towpath resume {out}"),
        (Terminated(), "Stopped by SIGTERM; go on with: towpath resume {out}"),
        (LostRankError("Rank 1 is gone"), "Rank 1 is gone, then go on with: towpath resume {out}"),
    ],
    ids=["Ctrl-C", "SIGTERM", "a lost rank"],
)
def test_what_stops_a_run_says_how_to_go_on(console, tmp_path, error, said):
    with pytest.raises(type(error)) as raised, reporting(console, tmp_path):
        raise error
    assert str(raised.value) == said.format(out=tmp_path)


def test_what_was_never_begun_cannot_be_gone_on_with(console, tmp_path):
    with pytest.raises(KeyboardInterrupt) as raised, reporting(console, tmp_path / "none"):
        raise KeyboardInterrupt
    assert str(raised.value) == ""
