"""Several runs at once, in words."""

import io

import pytest
from rich.console import Console

from tests.cli.test_progress import IMAGES, REGRESSION
from towpath.cli.watching import ConsoleWatcher
from towpath.grid.events import Began, Ended, Failed, Stepped


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=300)


def said(console):
    return console.file.getvalue()


def test_several_runs_at_once_are_told_in_the_unit_of_their_metric(console):
    watcher = ConsoleWatcher(console)
    watcher.heard("a", Ended({"assays": REGRESSION.summary(), "glyphs": IMAGES.summary()}))
    assert said(console) == "a: ended, test 0.125, 50.0%\n"


def test_where_there_is_no_terminal_a_run_has_few_lines_and_its_failure_one(console):
    watcher = ConsoleWatcher(console)
    watcher.heard("a", Began(0, 10))
    for step in range(1, 11):
        watcher.heard("a", Stepped(step, 10))
    watcher.heard("a", Failed("no memory"))  # told by `failed`, which knows what follows
    watcher.failed("a", "no memory", again=True)
    assert said(console).splitlines() == [
        "a: from step 0 of 10",
        "a: step 5/10",
        "a: failed (no memory); trying once more",
    ]
