"""The values of a recipe with every default filled in, so that two recipes can be compared."""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from towpath.data import load_folder
from towpath.data.registry import is_own_data, loader_of
from towpath.recipes.component import Component
from towpath.recipes.components import component_wants_targets, weighter_options
from towpath.recipes.fields import FOLLOWS, makers
from towpath.recipes.recipe import COMPONENTS, Recipe
from towpath.recipes.rules import RACES, RULES, rules_of
from towpath.recipes.typed import RecipeError
from towpath.runs.plain import Json
from towpath.weighters import WEIGHTERS

Plain: TypeAlias = "bool | int | float | str | tuple[Plain, ...] | None"
"""value of a recipe that can be compared and hashed: lists and mappings are tuples"""


def resolved(recipe: Recipe) -> dict[str, Plain]:
    """Return all values of a recipe by dotted name, with its components' defaults filled in."""
    values: dict[str, Plain] = {}
    for section, value in _with_defaults(recipe).items():
        for key, inner in _flat(section, value).items():
            values[key] = _plain(inner)
    return values


def filled_in(recipe: Recipe) -> dict[str, Json]:
    """Return the sections of a recipe with their components' defaults, as plain JSON or YAML.

    It is a recipe itself. The rules of a race are names, unless the recipe says more of them.
    """
    sections = _with_defaults(recipe)
    if recipe.weighter.name in RACES and recipe.weighter.options.get(RULES) is None:
        sections["weighter"][RULES] = list(rules_of(None, f"weighter.{RULES}"))
    filled: dict[str, Json] = json.loads(json.dumps(sections, default=str))
    return filled


def _with_defaults(recipe: Recipe) -> dict[str, Any]:
    """Return the sections of a recipe, those of components with all of their options."""
    sections = recipe.as_mapping()
    for key in COMPONENTS:
        name = sections[key]["name"]
        sections[key] = {"name": name, **_defaults(key, name), **sections[key]}
    return sections


@dataclass(frozen=True)
class MadeWeighter:
    """The maker of a registered weighter and its options: equal values, equal weighters."""

    make: Callable[..., object]
    options: dict[str, Plain]
    wants_targets: bool


def registered_weighter(component: Component) -> MadeWeighter | None:
    """Return the maker and options of a registered weighter; None for any other."""
    entry = WEIGHTERS.get(component.name)
    if entry is None:
        return None
    try:
        options = weighter_options(component)
    except RecipeError:  # an edited configuration; the run is shown, as nobody's row
        return None
    plain = {key: _plain(value) for key, value in options.items()}
    return MadeWeighter(entry.make, plain, component_wants_targets(component))


def _defaults(section: str, name: str) -> dict[str, object]:
    """Return the options that a recipe may leave out of a component, with their defaults."""
    if section == "weighter":
        known = registered_weighter(Component(name))
        return dict(known.options) if known else {}
    make = makers(section).get(name)
    if make is None and section == "data":
        make = loader_of(name) if is_own_data(name) else load_folder
    if make is None:
        return {}
    return {
        key: parameter.default
        for key, parameter in inspect.signature(make).parameters.items()
        if parameter.default is not inspect.Parameter.empty and key not in FOLLOWS[section]
    }


def _flat(name: str, value: object) -> dict[str, object]:
    """Return nested mappings as one mapping by dotted name."""
    if not isinstance(value, Mapping):
        return {name: value}
    return {k: v for key, inner in value.items() for k, v in _flat(f"{name}.{key}", inner).items()}


def _plain(value: object) -> Plain:
    """Return lists and tuples alike as tuples, since YAML knows no tuples."""
    if isinstance(value, list | tuple):
        return tuple(_plain(inner) for inner in value)
    if isinstance(value, Mapping):
        return tuple(sorted((key, _plain(inner)) for key, inner in value.items()))
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)  # a default that is an object of its own
