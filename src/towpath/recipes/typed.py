"""Options of a recipe, checked against the signature that they are meant for.

jsonargparse checks the types; this module words its refusals in one sentence: what was found, what
was expected, the nearest right spelling.
"""

import inspect
import re
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml
from jsonargparse import ArgumentError, ArgumentParser

from towpath.recipes.strict_yaml import load_yaml
from towpath.validation import check_ranges
from towpath.wording import nearest, quoted

_REQUIRED = inspect.Parameter.empty


class RecipeError(ValueError):
    """A recipe or run folder cannot be used; the message is one sentence for the user."""


def plain_value(word: str) -> Any:
    """Return the value of a word of the command line, read as YAML; other words stay strings."""
    try:
        return load_yaml(word)
    except yaml.YAMLError:
        return word


def chosen(registry: Collection[str], name: object, where: str) -> str:
    """Return the name if the registry has it; raise RecipeError with the nearest name otherwise.

    Args:
        registry: the known names.
        name: the name to look up.
        where: the field of the recipe, for the message.
    """
    if not isinstance(name, str) or name not in registry:
        raise RecipeError(
            f"{where} is {quoted(name)}; expected one of {', '.join(sorted(registry))}."
            f"{nearest(name, registry)}"
        )
    return name


def options_for(
    target: Callable[..., Any],
    given: Mapping[str, object],
    where: str,
    *,
    leave_out: Collection[str] = (),
) -> Mapping[str, Any]:
    """Return all options of `target`: the given ones, checked, and defaults for the others.

    Args:
        target: a class or function, whose signature gives names and types.
        given: the options that the recipe sets.
        where: the dotted name of the section, for messages.
        leave_out: parameters that the recipe does not set.

    Raises:
        RecipeError: if an option is not known, is missing, or has a value of another kind.
    """
    accepted = [n for n in inspect.signature(target).parameters if n not in leave_out]
    for key in given:
        if key not in accepted:
            raise RecipeError(
                f"{where} has no option {quoted(key)}; expected "
                f"{', '.join(accepted) if accepted else 'none'}.{nearest(key, accepted)}"
            )
    for name in accepted:
        if inspect.signature(target).parameters[name].default is _REQUIRED and name not in given:
            raise RecipeError(f"{where} lacks {name!r}; expected a value for it.")
    if not accepted:
        return {}
    parser = ArgumentParser(exit_on_error=False)
    skip: set[str | int] = {n for n in inspect.signature(target).parameters if n in leave_out}
    if isinstance(target, type):
        parser.add_class_arguments(target, None, skip=skip, instantiate=False)
    else:
        parser.add_function_arguments(target, None, skip=skip)
    try:
        parsed: Mapping[str, Any] = parser.parse_object(dict(given)).as_dict()
    except ArgumentError as error:
        culprit = re.search(r'[Kk]ey "([^"]+)"', str(error))
        key = culprit.group(1) if culprit else ""
        if key not in given:
            told = " ".join(str(error).split())
            raise RecipeError(
                f"{where} is {quoted(dict(given))}; expected other values: {told}"
            ) from None
        hint = _hint(target, key)
        raise RecipeError(
            f"{where}.{key} is {quoted(given[key])}; expected {described(hint)}."
            f"{nearest(given[key], _choices(hint))}"
        ) from None
    within_ranges(target, parsed, where)
    return parsed


def within_ranges(
    target: Callable[..., Any], options: Mapping[str, object], where: str = ""
) -> None:
    """Raise RecipeError if an option of the section `where` is outside its declared range."""
    try:
        check_ranges(target, options, where)
    except ValueError as error:
        raise RecipeError(str(error)) from None


def _hint(target: Callable[..., Any], name: str) -> Any:
    function = target.__init__ if isinstance(target, type) else target  # type: ignore[misc]
    return get_type_hints(function).get(name, object)


def _choices(hint: Any) -> list[str]:
    if get_origin(hint) is Literal:
        return [str(choice) for choice in get_args(hint)]
    return [c for part in get_args(hint) for c in _choices(part)]


def described(hint: Any) -> str:
    """Return a type in words, for the message that a value has another type."""
    one = {int: "a whole number", float: "a number", str: "a word", bool: "true or false"}
    if hint in one:
        return one[hint]
    if hint is type(None):
        return "null"
    if get_origin(hint) is Literal:
        return ", ".join(repr(choice) for choice in get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(described(part) for part in get_args(hint))
    if get_origin(hint) is tuple and Ellipsis not in get_args(hint):
        return f"{len(get_args(hint))} values in brackets"
    if get_origin(hint) in (list, tuple, Sequence):
        many = {int: "whole numbers", float: "numbers", str: "words"}
        return f"a list of {many.get(get_args(hint)[0], 'values')} in brackets"
    if get_origin(hint) in (dict, Mapping):
        return "a mapping"
    return str(getattr(hint, "__name__", hint))
