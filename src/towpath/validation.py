"""Checks of hyper-parameters, worded once."""

import difflib
import math
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints


def at_least(owner: str, name: str, value: float, low: float) -> None:
    """ValueError unless `value` is a finite number not below `low`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(
            f"{owner} found {name}={value!r} of type {type(value).__name__}; expected a number."
        )
    if not math.isfinite(value) or value < low:
        raise ValueError(
            f"{owner} found {name}={value}; expected a finite number of at least {low:g}."
        )


def between(owner: str, name: str, value: float, low: float, high: float) -> None:
    """ValueError unless `low <= value <= high`."""
    at_least(owner, name, value, low)
    if value > high:
        raise ValueError(f"{owner} found {name}={value}; expected between {low:g} and {high:g}.")


def check_choices(owner: str, options: Any) -> None:
    """Every field of the dataclass whose type is a Literal has one of its values."""
    hints = get_type_hints(type(options))
    for option in fields(options):
        hint, value = hints[option.name], getattr(options, option.name)
        members = get_args(hint) if get_origin(hint) is not Literal else (hint,)
        choices = [c for m in members if get_origin(m) is Literal for c in get_args(m)]
        others = [m for m in members if isinstance(m, type)]
        if not choices or value in choices or any(isinstance(value, m) for m in others):
            continue
        if float in others and isinstance(value, int):
            continue
        close = difflib.get_close_matches(str(value), choices, 1, 0.4)
        hint_text = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"{owner} found {option.name}={value!r}; expected one of {choices}"
            f"{' or a number' if float in others else ''}.{hint_text}"
        )
