"""Checks of hyper-parameters, worded once."""

import math


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
