"""Options are checked against the signature that they are for."""

from typing import Annotated, Literal

import pytest

from towpath.recipes.typed import RecipeError, chosen, described, options_for, plain_value
from towpath.validation import Range


def made(
    rate: float,
    steps: Annotated[int, Range(1, 10)] = 5,
    kind: Literal["slow", "fast"] = "slow",
    sizes: list[int] | None = None,
) -> None:
    """Take options of several types."""
    del rate, steps, kind, sizes


def test_defaults_are_filled_in():
    found = options_for(made, {"rate": 1}, "section")
    assert found == {"rate": 1.0, "steps": 5, "kind": "slow", "sizes": None}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "section lacks 'rate'; expected a value for it"),
        ({"rate": 1, "step": 2}, "section has no option 'step'; .*Did you mean 'steps'"),
        ({"rate": "quick"}, "section.rate is 'quick'; expected a number"),
        ({"rate": 1, "kind": "fats"}, "section.kind is 'fats'; .*Did you mean 'fast'"),
        ({"rate": 1, "steps": 11}, "section.steps is 11; expected at most 10"),
        ({"rate": 1, "sizes": 3}, "expected a list of whole numbers in brackets or null"),
    ],
)
def test_what_does_not_fit_is_told_with_what_would(given, said):
    with pytest.raises(RecipeError, match=said):
        options_for(made, given, "section")


def test_parameters_that_are_left_out_are_no_options():
    with pytest.raises(RecipeError, match="section has no option 'rate'"):
        options_for(made, {"rate": 1}, "section", leave_out=("rate",))


def test_words_of_the_command_line_are_plain_values():
    assert [plain_value(word) for word in ("1", "0.5", "[1, 2]", "true", "tow", "[1")] == [
        1,
        0.5,
        [1, 2],
        True,
        "tow",
        "[1",
    ]


def test_types_are_described_in_words():
    assert described(int | None) == "a whole number or null"
    assert described(tuple[float, float]) == "2 values in brackets"


def test_a_name_that_is_not_there_is_met_with_the_nearest():
    assert chosen(["tow"], "tow", "weighter.name") == "tow"
    with pytest.raises(RecipeError, match="Did you mean 'tow'"):
        chosen(["tow"], "two", "weighter.name")
