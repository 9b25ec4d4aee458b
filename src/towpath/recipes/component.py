"""A component as a recipe chooses it: a name and the options given to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from towpath.recipes.typed import RecipeError
from towpath.wording import quoted

Options: TypeAlias = Mapping[str, Any]
"""Keyword arguments. Their types are those of the signature that `options_for` checks them by."""


@dataclass(frozen=True)
class Component:
    """A data set, backbone, learner, optimiser or weighter, before it is made."""

    name: str
    """its name in a registry, or `package.module:Class` for a class of the user's"""
    options: Options = field(default_factory=dict)
    """options that the recipe sets; the others have their defaults"""

    @classmethod
    def of(cls, section: str, value: object) -> "Component":
        """Read a section of a recipe: a name, or a mapping with `name` and options.

        Args:
            section: name of the section, for messages.
            value: what the recipe has there.

        Raises:
            RecipeError: if the value is neither.
        """
        if isinstance(value, Component):
            return value
        given = {"name": value} if isinstance(value, str) else value
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise RecipeError(
                f"{section} is {quoted(value)}; expected a section of options by name."
            )
        options = dict(given)
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise RecipeError(
                f"{section}.name is {quoted(name)}; expected the name of a component, such as "
                f"{section}: {{name: ...}}."
            )
        return cls(name, options)

    def given(self, **options: Any) -> "Component":
        """Return the component with more options, which replace those of the same name."""
        return replace(self, options={**self.options, **options})

    def as_mapping(self) -> Options:
        """Return the plain values of a recipe's section, which `of` reads back."""
        return {"name": self.name, **self.options}
