"""Checks of hyper-parameters, with the same error messages everywhere."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from towpath.wording import nearest, quoted


@dataclass(frozen=True)
class Range:
    """The lowest and highest value of an option, declared in its annotation.

    An example is `steps: Annotated[int, Range(1, 10**8)]`. For a sequence, the bounds apply to each
    number. The upper bound is far above every sensible value: it turns a typing mistake into an
    error at once, instead of a process that never ends.
    """

    low: float
    high: float


Seed = Annotated[int, Range(0, 2**63 - 1)]
"""a seed that torch's and numpy's generators take and that the files of a run can store"""


def declared_ranges(target: Callable[..., Any]) -> dict[str, Range]:
    """Return the ranges that the signature of a class or function declares, by option name."""
    function = target.__init__ if isinstance(target, type) else target  # type: ignore[misc]
    hints = get_type_hints(function, include_extras=True)
    found = {name: _range_in(hint) for name, hint in hints.items()}
    return {name: declared for name, declared in found.items() if declared is not None}


def _range_in(hint: Any) -> Range | None:
    if get_origin(hint) is Annotated:
        for extra in hint.__metadata__:
            if isinstance(extra, Range):
                return extra
    return next((found for part in get_args(hint) if (found := _range_in(part))), None)


def check_ranges(target: Callable[..., Any], options: Mapping[str, Any], owner: str = "") -> None:
    """Raise a ValueError if an option is outside the range that `target` declares for it.

    Args:
        target: the class or function whose options these are.
        options: the values by name; their types are not checked.
        owner: the dotted name of the recipe's section, for the message.
    """
    for name, declared in declared_ranges(target).items():
        where = f"{owner}.{name}" if owner else name
        for value in _numbers(options.get(name)):
            if isinstance(value, bool):
                raise ValueError(f"{where} is {value!r}; expected a whole number.")
            if not value >= declared.low:  # also refuses NaN
                kind = "a whole number of " if isinstance(value, int) else ""
                raise ValueError(
                    f"{where} is {quoted(value)}; expected {kind}at least {declared.low:g}."
                )
            if value > declared.high:
                raise ValueError(
                    f"{where} is {quoted(value)}; expected at most {declared.high:,}. Lower it."
                )


def _numbers(value: Any) -> Iterator[int | float]:
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for part in value:
            yield from _numbers(part)


def at_least(owner: str, name: str, value: float, low: float) -> None:
    """Raise a ValueError unless `value` is a finite number not below `low`.

    Args:
        owner: the class or function that has the option, for the message.
        name: the name of the option.
        value: the value that was passed.
        low: the lowest value allowed.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(
            f"{owner} found {name}={value!r} of type {type(value).__name__}; expected a number."
        )
    if not math.isfinite(value) or value < low:
        raise ValueError(
            f"{owner} found {name}={value}; expected a finite number of at least {low:g}."
        )


def between(owner: str, name: str, value: float, low: float, high: float) -> None:
    """Raise a ValueError unless `value` is a number from `low` to `high`, both included.

    Args:
        owner: the class or function that has the option, for the message.
        name: the name of the option.
        value: the value that was passed.
        low: the lowest value allowed.
        high: the highest value allowed.
    """
    at_least(owner, name, value, low)
    if value > high:
        raise ValueError(f"{owner} found {name}={value}; expected between {low:g} and {high:g}.")


def check_whole(owner: str, name: str, value: object, low: int) -> None:
    """ValueError unless `value` is a whole number not below `low`.

    Args:
        owner: whose option it is, for the message.
        name: the option.
        value: what was given.
        low: the least value.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ValueError(
            f"{owner} found {name}={value!r}; expected a whole number of at least {low}."
        )


def check_choices(owner: str, options: Any, *, besides: Collection[str] = ()) -> None:
    """Every field of the dataclass whose type is a Literal has one of its values.

    Fields named `besides` are not looked at: those that hold an object in place of a word.
    """
    hints = get_type_hints(type(options))
    for option in fields(options):
        if option.name in besides:
            continue
        hint, value = hints[option.name], getattr(options, option.name)
        members = get_args(hint) if get_origin(hint) is not Literal else (hint,)
        choices = [c for m in members if get_origin(m) is Literal for c in get_args(m)]
        others = [m for m in members if isinstance(m, type)]
        if not choices or value in choices or any(isinstance(value, m) for m in others):
            continue
        if float in others and isinstance(value, int):
            continue
        raise ValueError(
            f"{owner} found {option.name}={value!r}; expected one of {choices}"
            f"{' or a number' if float in others else ''}.{nearest(value, choices, 0.4)}"
        )
