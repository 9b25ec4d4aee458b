"""`towpath audit` as a command; what it counts is tested beside the reports."""

from tests.refusal import refused


def test_numbers_below_one_are_refused(done, capsys):
    said = refused(["audit", str(done), "--last", "0"], capsys)
    assert said == "--last is 0 and --rows 15; expected at least 1 each."
