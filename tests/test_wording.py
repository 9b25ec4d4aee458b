"""How towpath speaks."""

import io

import pytest
from rich.console import Console

from towpath.wording import LONGEST_MESSAGE, nearest, one_line, printable, say, spreadsheet_cell


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
