"""The rules of a race in a recipe: a list of weighters, or weighters by names of the user's choice.

An entry is a word as `towpath compare --weighters` takes it, or a section:

    weighter: {name: race, rules: [uniform, mixture, "trim:keep=0.5"]}
    weighter: {name: race, rules: {plain: uniform, half: {name: trim, keep: 0.5}}}

The first one is the baseline. Where none are given they are those of `auto`.
"""

from collections.abc import Mapping
from typing import Any

from towpath.recipes.component import Component
from towpath.recipes.spelling import spelling, spelt
from towpath.recipes.typed import RecipeError
from towpath.weighters.race.lineup import line_up
from towpath.wording import quoted

RULES = "rules"
"""the option of a race that holds its rules"""
RACES = ("race", "auto")
"""names of weighters that race others"""


def rules_of(value: object, where: str) -> dict[str, Component]:
    """Return the rules of a race by the names that it has for them, the baseline first.

    Args:
        value: what the recipe has there; None for the rules of `auto`.
        where: the dotted name of the option, for messages.

    Raises:
        RecipeError: if the value is no list of at least two weighters, each of them once.
    """
    if value is None:
        return {name: Component(name) for name in line_up()}
    if isinstance(value, Mapping):
        found = {str(label): _rule(one, f"{where}.{label}") for label, one in value.items()}
    elif isinstance(value, list | tuple):
        rules = [_rule(one, f"{where}.{i}") for i, one in enumerate(value)]
        found = {spelling(rule): rule for rule in rules}
        if len(found) < len(rules):
            raise RecipeError(
                f"{where} is {quoted(value)}; expected each rule once. Leave the second one out, "
                "or give it other options."
            )
    else:
        raise RecipeError(
            f"{where} is {quoted(value)}; expected a list of weighters, such as [uniform, mixture]."
        )
    if len(found) < 2:
        raise RecipeError(
            f"{where} is {quoted(value)}; expected at least two rules, the baseline first, such as "
            "[uniform, mixture]."
        )
    return found


def _rule(value: object, where: str) -> Component:
    rule = spelt(value) if isinstance(value, str) else Component.of(where, value)
    if rule.name in RACES:
        raise RecipeError(
            f"{where} is the race {rule.name!r}; expected a weighter that does not race itself. "
            "Add its rules to this race instead."
        )
    return rule


def as_sections(rules: Mapping[str, Component]) -> dict[str, Any]:
    """Return the plain values of a recipe, which `rules_of` reads back."""
    return {label: rule.as_mapping() for label, rule in rules.items()}
