"""Options of the kinds of features: checked, and made into the object of the kind."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from towpath.data.errors import DataError
from towpath.data.tables.features import FeatureKind
from towpath.wording import nearest, quoted


def option_error(kind: str, name: str, value: object, expected: str) -> DataError:
    """Return the error to raise for an option of a kind that has a wrong value.

    Args:
        kind: the kind of features.
        name: the option.
        value: what was given.
        expected: what it should be.
    """
    return DataError(
        f"features ({kind}) found {name}={quoted(value)}; expected {expected}. Correct it."
    )


def check_number(kind: str, name: str, value: object, low: int, high: int) -> None:
    """Raise a `DataError` unless an option is a whole number between two others.

    Args:
        kind: the kind of features.
        name: the option.
        value: what was given.
        low: the lowest value allowed.
        high: the highest value allowed.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise option_error(kind, name, value, f"a whole number from {low:,} to {high:,}")


def check_word(kind: str, name: str, value: object) -> None:
    """Raise a `DataError` unless an option is a word.

    Args:
        kind: the kind of features.
        name: the option.
        value: what was given.
    """
    if not isinstance(value, str) or not value:
        raise option_error(kind, name, value, "a name")


def made(kinds: Mapping[str, type[FeatureKind]], option: Mapping[str, Any]) -> FeatureKind:
    """Return the kind of features that a mapping with `kind` and options describes.

    Args:
        kinds: the known kinds, by name.
        option: as in a recipe.
    """
    options = dict(option)
    kind = options.pop("kind", None)
    if kind not in kinds:
        raise DataError(
            f"features.kind is {quoted(kind)}; expected one of {', '.join(kinds)}."
            f"{nearest(kind, kinds)} Correct it."
        )
    make = kinds[kind]
    accepted = {each.name: each for each in fields(make) if each.init}  # type: ignore[arg-type]
    for name in options:
        if name not in accepted:
            raise DataError(
                f"features of kind {kind} have no option {quoted(name)}; expected "
                f"{', '.join(accepted)}.{nearest(name, accepted)} Correct it."
            )
    try:
        return make(**options)
    except TypeError as error:
        raise DataError(
            f"features of kind {kind} lack an option ({error}); expected {', '.join(accepted)}. "
            "Add it."
        ) from error
