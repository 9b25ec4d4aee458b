"""Weighters as they are spelt in one word: a name and its options, such as `trim:keep=0.5`."""

from towpath.recipes.component import Component
from towpath.recipes.typed import RecipeError, plain_value
from towpath.weighters import WEIGHTERS


def spelt(text: str) -> Component:
    """Return the weighter that a word such as `tow:beta=1.0` stands for, with its given options.

    Raises:
        RecipeError: if a part after the name is not `option=value`.
    """
    name, *settings = text.strip().split(":")
    if settings and settings[0].isidentifier() and name not in WEIGHTERS:
        name = f"{name}:{settings.pop(0)}"  # package.module:Class
    options = {}
    for setting in settings:
        key, sign, value = setting.partition("=")
        if not sign:
            raise RecipeError(
                f"The weighter {text!r} has the part {setting!r}; expected option=value, as in "
                "tow:beta=1.0"
            )
        options[key] = plain_value(value)
    return Component(name, options)


def spelling(component: Component) -> str:
    """Return a word for a weighter, which names it where several are listed."""
    options = (f"{key}={value}" for key, value in component.options.items())
    return ":".join((component.name, *options))
