"""Weighters in one word."""

import pytest

from towpath.recipes.component import Component
from towpath.recipes.spelling import spelling, spelt
from towpath.recipes.typed import RecipeError


@pytest.mark.parametrize(
    ("word", "component"),
    [
        ("uniform", Component("uniform")),
        (" trim:keep=0.5 ", Component("trim", {"keep": 0.5})),
        ("tow:beta=1.0:iterations=3", Component("tow", {"beta": 1.0, "iterations": 3})),
        ("pack.age:Class", Component("pack.age:Class")),
        ("pack.age:Class:share=2", Component("pack.age:Class", {"share": 2})),
    ],
)
def test_a_word_is_a_name_and_its_options(word, component):
    assert spelt(word) == component
    assert spelling(component) == word.strip()


def test_a_part_without_a_value_is_refused():
    with pytest.raises(
        RecipeError, match=r"'trim:keep' has the part 'keep'; expected option=value"
    ):
        spelt("trim:keep")
