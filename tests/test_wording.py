"""How towpath speaks."""

import io
import math

import pytest
from rich.console import Console

from towpath.wording import (
    LONGEST_MESSAGE,
    nearest,
    one_line,
    printable,
    say,
    seconds_text,
    spreadsheet_cell,
)


def test_the_nearest_word_is_offered_and_a_distant_one_is_not():
    assert nearest("Unifrom", ["uniform", "tow"]) == " Did you mean 'uniform'?"
    assert nearest("zebra", ["uniform", "tow"]) == ""
    assert nearest("x" * 10**7, ["uniform"]) == ""
    assert nearest("NSV", ["ATG", "NVS"]) == " Did you mean 'NVS'?"  # upper case made it distant


def test_a_long_message_keeps_its_beginning_and_its_end():
    said = one_line("found " + "x" * 10**6 + "\n do this")
    assert len(said) < LONGEST_MESSAGE + 60
    assert said.startswith("found x")
    assert said.endswith("x do this")
    assert one_line("short\n one") == "short one"


def test_signs_that_a_terminal_would_obey_are_shown():
    assert printable("a\x1b[31mb\x00c") == "a\\x1b[31mb\\x00c"
    assert printable("name\udcff") == "name\\xff"
    assert printable("Ελληνικά · é\n") == "Ελληνικά · é\n"


@pytest.mark.parametrize("text", ["a[/b]c", "run[v2]", "[red]x[/red]", "[link=x]"])
def test_what_is_said_is_printed_as_it_is(text):
    stream = io.StringIO()
    say(Console(file=stream, width=20), f"{text} {'long ' * 20}end")
    assert stream.getvalue() == f"{text} {'long ' * 20}end\n"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_a_formula_becomes_text(text):
    assert spreadsheet_cell(text) == f"'{text}"
    assert spreadsheet_cell(f"a{text}") == f"a{text}"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.123, "0.12 s"), (42.4, "42 s"), (120.0, "2.0 min"), (7199.0, "120.0 min"), (7200, "2.0 h")],
)
def test_durations_are_in_the_unit_that_a_person_would_use(seconds, text):
    assert seconds_text(seconds) == text


def test_a_duration_that_is_not_known_is_a_dash():
    assert {seconds_text(None), seconds_text(math.nan)} == {"–"}
